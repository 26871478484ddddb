/**
 * How a canary serves, beside the active revision: since it began, over all calls of each.
 *
 * There is no stream of service levels, so that they are read again while the page is visible.
 */

import { useMemo } from 'preact/hooks'
import { useRead } from '../../api/use-read.ts'
import { Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { State, Time, toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { useRefresh } from '../overview/attention.tsx'
import { canaryText } from './canary-words.ts'
import { levelsFrom, rowsOf } from './level-rows.ts'
import { toMs, toPercent } from './level-values.ts'
import type { Proxy } from './proxy.ts'

const words = texts.apis.levels
const { fates, name } = texts.apis.revisions
const REFRESH_MS = 5_000

interface LevelsProps {
  readonly proxy: Proxy
  /** Reads the deployment again, because another person may end the canary. */
  readonly reload: () => void
}

export function CanaryLevels({ proxy, reload }: LevelsProps) {
  const { canary, activeRevision } = proxy
  return canary === null || activeRevision === null ? null : (
    <Levels proxy={proxy} canary={canary} active={activeRevision} reload={reload} />
  )
}

interface ShownProps extends LevelsProps {
  readonly canary: NonNullable<Proxy['canary']>
  readonly active: number
}

function Levels({ proxy: { id }, canary, active, reload }: ShownProps) {
  const { since, revision } = canary
  const from = useMemo(() => levelsFrom(since, Date.now()), [since])
  const reading = useRead('/v1/proxies/:id/levels', { params: { id }, query: { from } })
  useRefresh(() => {
    reading.reload()
    reload()
  }, REFRESH_MS)
  return (
    <section aria-labelledby="canary">
      <h2 id="canary">{words.title}</h2>
      <p>
        {canaryText(canary)} {words.since} <Time at={since} />.
      </p>
      <Loaded reading={reading}>
        {({ items }) => (
          <Table
            caption={words.caption}
            rows={rowsOf(items, [revision, active])}
            keyOf={(row) => String(row.revision)}
            columns={[
              {
                title: words.columns.revision,
                cell: (row) => (
                  <>
                    {name(row.revision)} <State of={row.revision === active ? fates.active : fates.canary} />
                  </>
                ),
              },
              { title: words.columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
              {
                title: words.columns.errors,
                isNumber: true,
                cell: ({ errors, errorPercent }) =>
                  errorPercent === null ? toPercent(null) : words.share(toPercent(errorPercent), toNumber(errors)),
              },
              { title: words.columns.unanswered, isNumber: true, cell: ({ unanswered }) => toNumber(unanswered) },
              { title: words.columns.p50, isNumber: true, cell: ({ latency }) => toMs(latency.p50Ms) },
              { title: words.columns.p95, isNumber: true, cell: ({ latency }) => toMs(latency.p95Ms) },
              { title: words.columns.p99, isNumber: true, cell: ({ latency }) => toMs(latency.p99Ms) },
            ]}
          />
        )}
      </Loaded>
      <p class="quiet">{words.hint}</p>
    </section>
  )
}
