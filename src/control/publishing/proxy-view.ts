/** A proxy in the platform API, with its active and its staged revision. */

import { toTime } from '../command/commands.ts'
import type { Labels } from '../../storage/store/labels.ts'
import type { Document } from '../../storage/store/registry.ts'
import type { BackendTls } from '../../boundary/plan/route-plan.ts'
import type { TransformPlan } from '../../boundary/plan/transform-plan.ts'
import type { BackendInput } from './backend-address.ts'
import type { BackendSource } from './backend-choice.ts'
import { servingOrStaged, stagedDeployment, type Deployment, type ProxyBody } from './proxy-document.ts'

export interface Proxy {
  readonly id: string
  readonly api: string
  readonly state: string
  /** The active revision; null before the first activation. */
  readonly revision: number | null
  readonly activeRevision: number | null
  readonly stagingRevision: number | null
  /** Whether a staged revision waits for its activation. */
  readonly hasStaging: boolean
  readonly allowedScopes: readonly string[]
  readonly declaredScopes: readonly string[]
  readonly MemberOfProductIds: readonly string[]
  readonly backend: ShownBackend
  readonly transform: TransformPlan | null
  /** Where `backend` came from; null for revisions of earlier versions. */
  readonly backendSource: BackendSource | null
  /** The deployment of the staged revision; null if there is none. */
  readonly staging: Staging | null
  /** Whom the staged revision serves; null if it serves no call. */
  readonly canary: ShownCanary | null
  readonly labels: Labels
  /** Only in the responses to staging and activation. */
  readonly warnings?: readonly string[]
}

export interface Staging {
  readonly revision: number
  readonly backend: ShownBackend
  readonly transform: TransformPlan | null
  readonly backendSource: BackendSource | null
}

/** A backend without its secrets. */
export interface ShownBackend extends Pick<BackendInput, 'url' | 'targets' | 'balance'> {
  readonly timeoutMs: number
  readonly health?: string
  readonly connections?: number
  readonly waitMs?: number
  readonly tls?: { readonly certificate?: string; readonly ca?: string; readonly hasKey: boolean }
  readonly secretHeaders?: readonly { readonly name: string }[]
}

export interface ShownCanary {
  readonly revision: number
  /** Set if a share of the subscriptions is served. */
  readonly percent?: number
  readonly consumers?: readonly string[]
  readonly since: string
}

export function showProxy({ id, body }: Document<ProxyBody>): Proxy {
  const { activeRevision, stagingRevision } = body.actor.context
  const {
    backend,
    transform = null,
    backendSource = null,
    allowedScopes = [],
    declaredScopes = [],
  } = servingOrStaged(body) ?? {}
  const staged = stagedDeployment(body)
  return {
    id,
    api: body.api,
    state: activeRevision === null ? (stagingRevision === null ? 'none' : 'staging') : 'active',
    revision: activeRevision,
    activeRevision,
    stagingRevision,
    hasStaging: stagingRevision !== null,
    allowedScopes,
    declaredScopes,
    MemberOfProductIds: body.memberOfProductIds,
    backend: showBackend(backend),
    transform,
    backendSource,
    staging:
      staged === null || stagingRevision === null
        ? null
        : {
            revision: stagingRevision,
            backend: showBackend(staged.backend),
            transform: staged.transform ?? null,
            backendSource: staged.backendSource ?? null,
          },
    canary: showCanary(body),
    labels: body.labels ?? {},
  }
}

function showCanary({ actor: { context } }: ProxyBody): ShownCanary | null {
  const { canary = null, stagingRevision } = context
  if (canary === null || stagingRevision === null) return null
  return { revision: stagingRevision, ...canary.rule, since: toTime(canary.sinceMs) }
}

function showBackend(backend: Deployment['backend'] | undefined): ShownBackend {
  const { tls, secretHeaders } = backend ?? {}
  const targets = backend?.targets?.map(({ url, weight }) => ({ url, ...(weight !== undefined && { weight }) }))
  return {
    ...(targets === undefined ? { url: backend?.url ?? '' } : { targets }),
    ...(backend?.balance !== undefined && { balance: backend.balance }),
    timeoutMs: backend?.timeoutMs ?? 0,
    ...(backend?.health !== undefined && { health: backend.health }),
    ...(backend?.connections !== undefined && { connections: backend.connections }),
    ...(backend?.waitMs !== undefined && { waitMs: backend.waitMs }),
    ...(tls !== undefined && { tls: showTls(tls) }),
    ...(secretHeaders !== undefined && { secretHeaders: secretHeaders.map(({ name }) => ({ name })) }),
  }
}

function showTls({ certificate, ca, key }: BackendTls): NonNullable<ShownBackend['tls']> {
  return {
    ...(certificate !== undefined && { certificate }),
    ...(ca !== undefined && { ca }),
    hasKey: key !== undefined,
  }
}
