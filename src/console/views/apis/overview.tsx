/** The facts about an API, its traffic, how it is called, and who uses it. */

import { useRead } from '../../api/use-read.ts'
import { Chart } from '../../parts/chart.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Time, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { TOTAL } from '../usage/links.ts'
import type { Api, ApiTabProps } from './api-tab.ts'
import { ApiUsers } from './api-users.tsx'
import { addressesOf } from './backend-addresses.ts'
import { CanaryLevels } from './canary-levels.tsx'
import { canaryText } from './canary-words.ts'
import { FirstCall } from './first-call.tsx'
import type { Proxy } from './proxy.ts'
import { useProxy } from './use-document.ts'

const { facts, traffic, users, firstCall } = texts.apis
const DAY_MS = 86_400_000
const DAYS = 30

export function Overview({ api }: ApiTabProps) {
  const deployment = useProxy(may('proxies:read') ? api.id : null)
  const proxy = deployment.data?.proxy ?? null
  return (
    <>
      {query.value.has('published') && (
        <p class="notice" role="status">
          {firstCall.published}
        </p>
      )}
      <div class="grid">
        <Facts api={api} proxy={proxy} />
        {(api.state === 'Active' || api.state === 'Deprecated') && <FirstCall api={api.id} />}
      </div>
      {proxy !== null && <CanaryLevels proxy={proxy} reload={deployment.reload} />}
      {may('usage:read') && <Traffic api={api.id} />}
      {may('subscriptions:read') && (
        <>
          <h2>{users.title}</h2>
          <ApiUsers api={api.id} />
        </>
      )}
    </>
  )
}

function Facts({ api, proxy }: { readonly api: Api; readonly proxy: Proxy | null }) {
  const { id, title, version, owner, complianceScore, retirementDate, successor } = api
  return (
    <dl class="facts">
      <dt>{facts.title}</dt>
      <dd>
        <bdi>{title}</bdi>
      </dd>
      <dt>{facts.version}</dt>
      <dd>
        <bdi>{version}</bdi>
      </dd>
      <dt>{facts.score}</dt>
      <dd>{complianceScore === null ? facts.noScore : facts.points(toNumber(complianceScore))}</dd>
      <dt>{facts.owner}</dt>
      <dd>
        <code>{owner}</code>
      </dd>
      {proxy !== null && <Deployment api={id} proxy={proxy} />}
      {retirementDate !== null && (
        <>
          <dt>{facts.retirement}</dt>
          <dd>
            <Time at={retirementDate} />
          </dd>
        </>
      )}
      {successor !== null && (
        <>
          <dt>{facts.successor}</dt>
          <dd>
            <a href={`${BASE}apis/${encodeURIComponent(successor)}`}>{successor}</a>
          </dd>
        </>
      )}
    </dl>
  )
}

function Deployment({ api, proxy }: { readonly api: string; readonly proxy: Proxy }) {
  const { activeRevision, stagingRevision, backend, canary } = proxy
  return (
    <>
      <dt>{facts.revision}</dt>
      <dd>{activeRevision === null ? facts.noRevision : facts.serves(activeRevision)}</dd>
      {stagingRevision !== null && (
        <dd>
          <a href={`${BASE}apis/${encodeURIComponent(api)}/revisions`}>
            {canary === null ? facts.staged(stagingRevision) : canaryText(canary)}
          </a>
        </dd>
      )}
      <dt>{facts.backend}</dt>
      <dd>
        <a href={`${BASE}apis/${encodeURIComponent(api)}/backend`}>
          <code>{addressesOf(backend)}</code>
        </a>{' '}
        {backend.health !== undefined && <span class="quiet">{backend.health}</span>}
      </dd>
    </>
  )
}

function Traffic({ api }: { readonly api: string }) {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const from = new Date(today - (DAYS - 1) * DAY_MS).toISOString()
  const reading = useRead('/v1/summaries', { query: { api, from, interval: 'day', groupBy: TOTAL } })
  return (
    <Loaded reading={reading}>
      {({ items }) => {
        const times = Array.from({ length: DAYS }, (_, day) => today - (DAYS - 1 - day) * DAY_MS)
        const values = times.map((time) =>
          items.filter((item) => Date.parse(item.from) === time).reduce((sum, { calls }) => sum + calls, 0),
        )
        return items.length === 0 ? (
          <p class="quiet">{traffic.none}</p>
        ) : (
          <Chart title={traffic.title} times={times} values={values} />
        )
      }}
    </Loaded>
  )
}
