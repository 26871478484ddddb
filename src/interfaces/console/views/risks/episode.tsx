/** One risk episode: what happens, who is involved, their calls, and what can be done about it. */

import { useEffect } from 'preact/hooks'
import { MINUTE_MS } from '../../../../foundation/domain/calendar.ts'
import { useRead } from '../../api/use-read.ts'
import { riskTitle } from '../../parts/codes.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Severity, State, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Calls } from './episode-calls.tsx'
import { Facts } from './episode-facts.tsx'
import { Involved } from './involved.tsx'
import { MuteAction } from './mute-dialog.tsx'
import { Message } from './message.tsx'
import { consumerOf } from '../../../../foundation/domain/risk.ts'
import type { Timeline } from './party.ts'

const words = texts.risks
const RELOAD_MS = 10_000

export function Episode({ riskId }: { readonly riskId: string }) {
  const reading = useRead('/v1/risks/:riskId', { params: { riskId } })
  const { data, reload } = reading
  useEffect(() => {
    if (data?.state !== 'open') return undefined
    const timer = setInterval(reload, RELOAD_MS)
    return () => clearInterval(timer)
  }, [data?.state])
  return (
    <Page
      title={data === null ? words.title : riskTitle(data.type)}
      state={data !== null && <States risk={data} />}
      actions={data !== null && <Actions risk={data} onChanged={reload} />}
    >
      <Loaded reading={reading}>
        {(risk) => (
          <>
            <Facts risk={risk} />
            {consumerOf(risk.attributedTo) !== '' && may('subscriptions:read') && <Involved risk={risk} />}
            <History risk={risk} />
            {may('requests:read') && <Calls risk={risk} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function States({ risk: { severity, state, mute } }: { readonly risk: Timeline }) {
  return (
    <>
      <Severity of={severity} /> <State of={words.states[state]} /> {mute !== null && <State of={words.muted} />}
    </>
  )
}

function Actions({ risk, onChanged }: { readonly risk: Timeline; readonly onChanged: () => void }) {
  const { api } = risk
  return (
    <>
      {may('requests:read') && (
        <a class="button" href={BASE + toCalls(risk)}>
          {words.actions.calls}
        </a>
      )}
      {may('openslaspecs:write') && (
        <a class="button" href={`${BASE}apis/${encodeURIComponent(api)}/declarations`}>
          {words.actions.declaration}
        </a>
      )}
      <MuteAction risk={{ ...risk, riskId: risk.id }} onChanged={onChanged} />
    </>
  )
}

function toCalls({ api, attributedTo, firstSeen, lastSeen }: Timeline): string {
  const filters = {
    api,
    customer: consumerOf(attributedTo),
    from: new Date(Date.parse(firstSeen) - MINUTE_MS).toISOString(),
    to: new Date(Date.parse(lastSeen) + MINUTE_MS).toISOString(),
  }
  return `requests?${new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ''))}`
}

function History({ risk: { timeline, attributedTo } }: { readonly risk: Timeline }) {
  return (
    <>
      <h2>{words.timeline}</h2>
      <Table
        caption={words.timeline}
        keyOf={({ id }) => id}
        rows={timeline}
        columns={[
          { title: words.columns.time, cell: ({ time }) => <Time at={time} /> },
          { title: words.columns.phase, cell: ({ phase }) => words.phases[phase] },
          { title: words.columns.severity, cell: ({ severity }) => <Severity of={severity} /> },
          { title: words.columns.count, isNumber: true, cell: ({ count }) => toNumber(count) },
          { title: words.message, cell: ({ message }) => <Message text={message} party={attributedTo} /> },
        ]}
      />
    </>
  )
}
