/** The facts about an API, its traffic, how it is called, and who uses it. */

import { Skeleton } from '../../parts/states.tsx'
import { Time, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { CallChart } from '../usage/call-chart.tsx'
import { usePreset } from '../usage/use-preset.ts'
import type { Api, ApiTabProps } from './api-tab.ts'
import { ApiUsers } from './api-users.tsx'
import { addressesOf } from './backend-addresses.ts'
import { CanaryLevels } from './canary-levels.tsx'
import { canaryText } from './canary-words.ts'
import { FirstCall } from './first-call.tsx'
import type { Proxy } from './proxy.ts'
import { useProxy } from './use-document.ts'

const { facts, traffic, users, firstCall } = texts.apis

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
  const preset = usePreset({ api })
  return preset === null ? <Skeleton /> : <CallChart filters={{ api }} preset={preset} none={traffic.none} />
}
