/** The nodes that share the registry, refreshed while the page is visible; a node that does not return is removed here. */

import { MINUTE_S } from '../../../../foundation/domain/calendar.ts'
import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { notify } from '../../parts/toast.tsx'
import { Severity, State, Time, toNumber } from '../../parts/values.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { useRefresh } from '../overview/attention.tsx'
import './process.css'

type Node = Item<'/v1/nodes'>

const words = texts.nodes
const REFRESH_MS = 5_000
/** Above it the clocks of nodes order too little of what they make. */
const CLOCK_SECONDS_MAX = 1

export function Nodes() {
  const reading = useRead('/v1/nodes', { query: Pages.query() })
  useRefresh(reading.reload, REFRESH_MS)
  const { columns } = words
  const mayRemove = scopes.value.has('platform:admin')
  return (
    <Page title={words.title}>
      <p class="quiet">{reading.data?.items.length === 1 ? words.one : words.lead}</p>

      <ListOf
        reading={reading}
        caption={words.title}
        keyOf={({ name, registeredAt }) => `${name} ${registeredAt}`}
        empty={{ text: words.none, commands: ['tollgate nodes list'] }}
        columns={[
          { title: columns.name, cell: (node) => <Name node={node} /> },
          {
            title: columns.state,
            cell: (node) => (
              <>
                <Life node={node} /> {mayRemove && !node.isLive && <Remove node={node} onRemoved={reading.reload} />}
              </>
            ),
          },
          { title: columns.version, cell: ({ version }) => version },
          { title: columns.position, isNumber: true, cell: ({ position }) => toNumber(position) },
          { title: columns.lag, isNumber: true, cell: ({ lag }) => (lag === 0 ? words.level : toNumber(lag)) },
          { title: columns.settings, cell: (node) => <Settings node={node} /> },
          { title: columns.clock, cell: (node) => <Clock node={node} /> },
          { title: columns.since, cell: ({ registeredAt }) => <Time at={registeredAt} /> },
        ]}
      />
    </Page>
  )
}

interface Shown {
  readonly node: Node
}

function Name({ node: { name, isSelf } }: Shown) {
  return (
    <>
      <bdi>{name}</bdi> {isSelf && <span class="quiet">{words.self}</span>}
    </>
  )
}

function Life({ node: { isLive, silentSeconds } }: Shown) {
  return isLive ? <State of={words.live} /> : <Severity of="Warning" word={words.silent(toDuration(silentSeconds))} />
}

function Settings({ node: { differs } }: Shown) {
  if (differs.length === 0) return words.same
  return (
    <ul class="setting-names" aria-label={words.differs}>
      {differs.map((name) => (
        <li key={name}>
          <Severity of="Warning" word={name} />
        </li>
      ))}
    </ul>
  )
}

function Clock({ node: { clockOffsetSeconds: offset } }: Shown) {
  if (Math.abs(offset) <= CLOCK_SECONDS_MAX) return words.clockRight
  const seconds = toDuration(Math.abs(offset))
  return <Severity of="Warning" word={offset > 0 ? words.clockAhead(seconds) : words.clockBehind(seconds)} />
}

function Remove({ node: { name }, onRemoved }: Shown & { readonly onRemoved: () => void }) {
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/nodes/:name', { name }, undefined)
    notify(words.removed(name))
    onRemoved()
  }
  return <ConfirmButton label={words.remove} consequence={words.consequence(name)} onConfirm={remove} />
}

function toDuration(seconds: number): string {
  if (seconds < MINUTE_S) return words.seconds(toNumber(Math.floor(seconds)))
  return words.minutes(toNumber(Math.floor(seconds / MINUTE_S)))
}
