/** The health of the process, refreshed while the page is visible. */

import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { State, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import { useRefresh } from '../overview/attention.tsx'

type ServiceHealth = Answer<'/v1/health'>

const words = texts.health
const REFRESH_MS = 5_000

export function Health() {
  const reading = useRead('/v1/health')
  useRefresh(reading.reload, REFRESH_MS)
  const { data } = reading
  return (
    <Page title={words.title} state={data !== null && <State of={words.states[data.state]} />}>
      <p class="quiet">{words.refreshed}</p>
      <Loaded reading={reading}>
        {(health) => (
          <>
            {health.reason !== null && (
              <p class="notice" role="alert">
                {health.reason}
              </p>
            )}
            <Facts health={health} />
            <Threads threads={health.threads} />
            <Nodes nodes={health.nodes} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Facts({ health }: { readonly health: ServiceHealth }) {
  const { version, startedAt, memoryBytes, spool, pipeline, store, disk } = health
  const percent = (spool.usedRatio * 100).toFixed(1)
  return (
    <dl class="facts">
      <dt>{words.version}</dt>
      <dd>{version}</dd>
      <dt>{words.started}</dt>
      <dd>
        <Time at={startedAt} />
      </dd>
      <dt>{words.spool}</dt>
      <dd>
        <meter min={0} max={1} high={0.8} value={spool.usedRatio} aria-label={words.spool} />{' '}
        {words.spoolUsed(percent, toBytes(spool.maxBytes))}
      </dd>
      <dt>{words.read}</dt>
      <dd>{toLag(pipeline.readLagSeconds)}</dd>
      <dt>{words.stored}</dt>
      <dd>{toLag(pipeline.storeLagSeconds)}</dd>
      <dt>{words.store}</dt>
      <dd>
        {words.stores[store.kind]} · {words.storedUntil} <Time at={store.storedAt} />
      </dd>
      <dt>{words.disk}</dt>
      <dd>{disk === null ? words.unknown : words.diskFree(toBytes(disk.freeBytes), toBytes(disk.totalBytes))}</dd>
      <dt>{words.memory}</dt>
      <dd>{toBytes(memoryBytes)}</dd>
    </dl>
  )
}

function toLag(seconds: number): string {
  return seconds === 0 ? words.level : words.behind(toNumber(seconds))
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function toBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)))
  const value = bytes / 1024 ** power
  return `${toNumber(Number(value.toFixed(value < 10 ? 1 : 0)))} ${UNITS[power] ?? ''}`
}

function Threads({ threads }: Pick<ServiceHealth, 'threads'>) {
  const { columns } = words
  return (
    <>
      <h2>{words.threads}</h2>
      <Table
        caption={words.threads}
        keyOf={({ thread }) => String(thread)}
        rows={threads}
        columns={[
          { title: columns.thread, cell: ({ thread }) => toNumber(thread) },
          { title: columns.state, cell: ({ state }) => <State of={words.threadStates[state]} /> },
          { title: columns.calls, isNumber: true, cell: ({ callsInFlight }) => toNumber(callsInFlight) },
        ]}
      />
    </>
  )
}

function Nodes({ nodes }: Pick<ServiceHealth, 'nodes'>) {
  const { columns } = words
  return (
    <>
      <h2>{words.nodes}</h2>
      <Table
        caption={words.nodes}
        keyOf={({ name }) => name}
        rows={nodes}
        columns={[
          { title: columns.node, cell: ({ name }) => <bdi>{name}</bdi> },
          { title: columns.state, cell: ({ state }) => <State of={words.states[state]} /> },
        ]}
      />
      <p>
        <a href={`${BASE}settings/nodes`}>{words.allNodes}</a>
      </p>
    </>
  )
}
