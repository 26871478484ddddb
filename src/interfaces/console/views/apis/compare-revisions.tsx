/** The difference between the documents of two revisions, with the changes that break callers. */

import { useEffect, useState } from 'preact/hooks'
import { CallRefused, change, type Problem } from '../../api/client.ts'
import type { Changes, Item } from '../../api/operations.ts'
import { Diff } from '../../parts/code.tsx'
import { Refusal } from '../../parts/dialog.tsx'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { Loaded, Skeleton } from '../../parts/states.tsx'
import { query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { toBase64 } from './base64.ts'
import { ChangeTable } from './change-table.tsx'
import type { Proxy } from './proxy.ts'
import { useText } from './use-document.ts'

const words = texts.apis.compare

type Revision = Item<'/v1/proxies/:id/revisions'>
type Report = Changes<'POST /v1/programmes/validate'>

/** A longer document takes the editor seconds. */
const SHOWN_LENGTH_MAX = 1_000_000

interface CompareProps {
  readonly proxy: Proxy
  readonly revisions: readonly Revision[]
}

export function CompareRevisions({ proxy, revisions }: CompareProps) {
  if (revisions.length < 2 || !may('openapispecs:read')) return null
  const numbers = revisions.map(({ revision }) => String(revision))
  const [before, after] = defaultsOf(proxy, revisions)
  const named = (name: string, fallback: string): Revision | undefined =>
    revisions.find(({ revision }) => String(revision) === (query.value.get(name) ?? fallback))
  const options = (first: string) => [first, ...numbers.filter((each) => each !== first)].map(toOption)
  return (
    <section aria-labelledby="compare">
      <h2 id="compare">{words.title}</h2>
      <Filters>
        <SelectFilter name="before" label={words.before} options={options(before)} />
        <SelectFilter name="after" label={words.after} options={options(after)} />
      </Filters>
      <Documents before={named('before', before)} after={named('after', after)} />
    </section>
  )
}

function toOption(revision: string): readonly [string, string] {
  return [revision, texts.apis.revisions.name(Number(revision))]
}

/** Compares with the staged revision if there is one, else the active one with its predecessor. */
function defaultsOf(
  { activeRevision, stagingRevision }: Proxy,
  revisions: readonly Revision[],
): readonly [string, string] {
  const active = activeRevision ?? stagingRevision
  const former = revisions.findLast(({ fate }) => fate === 'superseded')?.revision
  const [before, after] = stagingRevision === null ? [former ?? active, active] : [active, stagingRevision]
  return [String(before), String(after)]
}

interface DocumentsProps {
  readonly before: Revision | undefined
  readonly after: Revision | undefined
}

function Documents({ before, after }: DocumentsProps) {
  const earlier = useText(before?.specification)
  const later = useText(after?.specification)
  if (before === undefined || after === undefined) return <p class="empty">{words.gone}</p>
  if (before.specification === after.specification) return <p class="empty">{words.equal}</p>
  return (
    <Loaded reading={earlier}>
      {(beforeText) => (
        <Loaded reading={later}>
          {(afterText) => <Difference before={toLines(beforeText)} after={toLines(afterText)} />}
        </Loaded>
      )}
    </Loaded>
  )
}

interface TextsProps {
  readonly before: string
  readonly after: string
}

function Difference({ before, after }: TextsProps) {
  const isLong = Math.max(before.length, after.length) > SHOWN_LENGTH_MAX
  return (
    <>
      {may('programmes:read') && <FoundChanges before={before} after={after} />}
      {isLong ? <p class="notice">{words.tooLong}</p> : <Diff before={before} after={after} />}
    </>
  )
}

/** JSON on one line is put on several, because lines are compared. */
function toLines(text: string): string {
  if (text.trim().includes('\n')) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function FoundChanges({ before, after }: TextsProps) {
  const [report, setReport] = useState<Report | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  useEffect(() => {
    let isCurrent = true
    setReport(null)
    setProblem(null)
    const body = { specification: toBase64(after), previous: toBase64(before) }
    change('POST /v1/programmes/validate', {}, body).then(
      (found) => isCurrent && setReport(found),
      (cause: unknown) => {
        if (!(cause instanceof CallRefused)) throw cause
        if (isCurrent) setProblem(cause.problem)
      },
    )
    return () => {
      isCurrent = false
    }
  }, [before, after])
  if (problem !== null) return <Refusal problem={problem} />
  return report === null ? <Skeleton /> : <ChangeTable changes={report.changes} />
}
