/** A programme: its steps as they happen, the decision that it waits for, and what would gain points. */

import { useEffect, useState } from 'preact/hooks'
import { change, toUrl } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { openStream } from '../../api/stream.ts'
import { useRead } from '../../api/use-read.ts'
import type { Finding } from '../../parts/code-editor.tsx'
import { ActionButton } from '../../parts/dialog.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, State, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Decision } from './programme-decision.tsx'
import { NewVersion } from './programme-version.tsx'
import { Steps, type Progress } from './steps.tsx'

type Programme = Answer<'/v1/programmes/:id'>

const words = texts.programmes

export function ProgrammeView({ id }: { readonly id: string }) {
  const reading = useRead('/v1/programmes/:id', { params: { id } })
  return <Loaded reading={reading}>{(programme) => <Followed programme={programme} reload={reading.reload} />}</Loaded>
}

interface FollowedProps {
  readonly programme: Programme
  readonly reload: () => void
}

function Followed({ programme, reload }: FollowedProps) {
  const { id, status, approvalFlow, recommendations } = programme
  const [run, setRun] = useState(0)
  const { progress, downSince } = useProgress(id, run)
  const now = progress?.status ?? status
  useEffect(() => {
    if (now !== status) reload()
  }, [now])
  const again = (): void => {
    setRun((number) => number + 1)
    reload()
  }
  const mayWrite = scopes.value.has('programmes:write')
  const retry = async (): Promise<void> => {
    await change('POST /v1/programmes/:id/retry', { id }, undefined)
    notify(words.retried)
    again()
  }
  return (
    <>
      {downSince !== null && (
        <p class="stale" role="status">
          {texts.states.stale(downSince.toLocaleTimeString())}
        </p>
      )}
      <Facts programme={programme} status={now} />
      <p class="toolbar">
        {now === 'failed' && mayWrite && <ActionButton isMain label={words.retry} onClick={retry} />}
        {(now === 'succeeded' || now === 'failed') && mayWrite && (
          <NewVersion id={id} findings={toFindings(progress)} onSent={again} />
        )}
      </p>
      {now === 'waiting' && approvalFlow !== null && <Decision id={id} flowId={approvalFlow} />}
      <h2>{words.steps}</h2>
      {progress !== null && <Steps progress={progress} />}
      {recommendations.length > 0 && <Recommendations items={recommendations} />}
    </>
  )
}

function toFindings(progress: Progress | null): readonly Finding[] {
  return (progress?.steps ?? []).flatMap(({ errors }) =>
    errors.map(({ line = 1, detail }) => ({ line, severity: 'error', message: detail }) as const),
  )
}

/** Follows a programme until it has ended; `run` begins again after a retry or with a new version. */
function useProgress(id: string, run: number) {
  const [progress, setProgress] = useState<Progress | null>(null)
  const [downSince, setDownSince] = useState<Date | null>(null)
  useEffect(() => {
    let isOver = false
    const close = openStream(toUrl('/v1/programmes/:id/progress', { params: { id } }), {
      onEvents: (events) => {
        const last = JSON.parse(events.at(-1)?.data ?? 'null') as Progress | null
        if (last === null) return
        setProgress(last)
        isOver = last.status === 'failed' || last.status === 'succeeded'
        // The service ends the stream; a new one would only repeat the end.
        if (isOver) close()
      },
      onState: (since) => setDownSince(isOver ? null : since),
    })
    return close
  }, [id, run])
  return { progress, downSince }
}

interface FactsProps {
  readonly programme: Programme
  readonly status: Programme['status']
}

function Facts({ programme: { id, api, score, createdAt }, status }: FactsProps) {
  return (
    <dl class="facts">
      <dt>{words.columns.state}</dt>
      <dd aria-live="polite">
        <State of={words.states[status]} />
      </dd>
      <dt>{words.columns.api}</dt>
      <dd>{api === null ? words.noApi : <a href={`${BASE}apis/${encodeURIComponent(api)}`}>{api}</a>}</dd>
      <dt>{words.columns.score}</dt>
      <dd>{score === null ? words.noScore : words.points(toNumber(score))}</dd>
      <dt>{words.columns.created}</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
      <dt>{words.columns.id}</dt>
      <dd>
        <Id value={id} />
      </dd>
    </dl>
  )
}

function Recommendations({ items }: { readonly items: Programme['recommendations'] }) {
  return (
    <>
      <h2>{words.recommendations}</h2>
      <Table
        caption={words.recommendations}
        rows={items}
        keyOf={({ rule }) => rule}
        columns={[
          { title: words.rule, cell: ({ rule }) => <bdi>{rule}</bdi> },
          { title: words.advice, cell: ({ advice }) => <bdi>{advice}</bdi> },
          { title: words.places, isNumber: true, cell: ({ count }) => toNumber(count) },
          { title: words.gain, isNumber: true, cell: ({ gain }) => words.points(toNumber(gain)) },
        ]}
      />
    </>
  )
}
