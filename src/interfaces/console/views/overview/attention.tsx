/** Lists the matters that wait for a person, the most severe first. Each item leads to the place where it can be acted on. */

import { useEffect } from 'preact/hooks'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Severity, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'

type Matter = Item<'/v1/attention'>
type Subject = Matter['subjects'][number]

const words = texts.overview
const REFRESH_MS = 15_000

export function Attention() {
  const reading = useRead('/v1/attention')
  useRefresh(reading.reload, REFRESH_MS)
  return (
    <section>
      <h2>{words.attention}</h2>
      <Loaded reading={reading}>
        {({ items }) => (items.length === 0 ? <p class="quiet">{words.calm}</p> : <Matters items={items} />)}
      </Loaded>
    </section>
  )
}

/** While the page is visible. */
export function useRefresh(reload: () => void, everyMs: number): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
}

function Matters({ items }: { readonly items: readonly Matter[] }) {
  const { columns } = words
  return (
    <Table
      caption={words.attention}
      keyOf={({ kind, severity }) => `${kind} ${severity}`}
      rows={items}
      columns={[
        { title: columns.what, cell: (matter) => <a href={BASE + placeOf(matter)}>{nameOf(matter)}</a> },
        { title: columns.severity, cell: ({ severity }) => <Severity of={severity} /> },
        { title: columns.first, cell: (matter) => <Subjects matter={matter} /> },
        { title: columns.since, cell: ({ subjects: [first] }) => (first?.at == null ? '' : <Time at={first.at} />) },
      ]}
    />
  )
}

function nameOf({ kind, count, isMore }: Matter): string {
  const number = isMore ? words.more(toNumber(count)) : toNumber(count)
  return words.items[kind](number, count === 1 && !isMore)
}

/** The list of all of a kind. */
function placeOf({ kind, severity }: Matter): string {
  switch (kind) {
    case 'risk':
      return `risks/episodes?severity=${severity}`
    case 'limit':
      return 'risks/episodes?type=ApproachingLimit'
    case 'backend':
      return 'apis'
    case 'approval':
      return 'approvals'
    case 'webhook':
      return 'webhooks'
    case 'credential':
      return 'subscriptions'
    case 'revision':
      return 'apis/staged'
  }
}

function Subjects({ matter }: { readonly matter: Matter }) {
  return (
    <ul class="subjects">
      {matter.subjects.map((subject) => (
        <li key={subject.id}>
          <a href={BASE + pageOf(matter, subject)}>
            <bdi>{labelOf(matter, subject)}</bdi>
          </a>
        </li>
      ))}
    </ul>
  )
}

/** The page of one of them. */
function pageOf({ kind }: Matter, { id, name, parent }: Subject): string {
  const own = encodeURIComponent(id)
  switch (kind) {
    case 'risk':
    case 'limit':
      return `risks/${own}`
    case 'backend':
      return `apis/${own}`
    case 'approval':
      return name === 'programme' && parent !== null
        ? `governance/programmes/${encodeURIComponent(parent)}`
        : `approvals?flow=${own}`
    case 'webhook':
      return `webhooks/${own}`
    case 'credential':
      return `subscriptions/${encodeURIComponent(parent ?? '')}`
    case 'revision':
      return `apis/${own}/revisions`
  }
}

function labelOf({ kind }: Matter, { id, name }: Subject): string {
  if (kind === 'approval') return words.flows[name as keyof typeof words.flows] ?? name
  if (kind === 'backend') return `${id} ${words.backends[name as keyof typeof words.backends] ?? name}`
  if (kind === 'revision') return words.revision(id, name)
  return name === '' ? id : name
}
