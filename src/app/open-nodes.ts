/** Composes what makes a node follow the changes of others, and shows how far it has come. A single node follows none. */

import { followGrants, GRANT_KINDS } from '../control/access/follow-grants.ts'
import { IDENTITY_PROVIDER_KIND } from '../control/access/identity-provider-document.ts'
import { REVOKED_PERSON_KIND } from '../control/access/revocation-documents.ts'
import { REVOKED_TOKEN_KIND } from '../control/access/token-revocations.ts'
import { SIGNING_KEY_KIND } from '../control/identity/key-ring.ts'
import { followRegistry, type Follow } from '../storage/nodes/follow-registry.ts'
import { API_KIND } from '../control/publishing/apis.ts'
import { PROXY_KIND } from '../control/publishing/proxy-document.ts'
import { RevisionWithheld } from '../control/publishing/follow-api.ts'
import { OPENSLA_SPEC_KIND } from '../control/publishing/specifications.ts'
import type { StoredPlan } from '../control/publishing/stored-plans.ts'
import type { WithheldRetries } from '../control/publishing/withheld-retries.ts'
import type { OauthEndpoint } from '../boundary/plan/oauth-call.ts'
import { PENDING_NODES_HEADER, type AwaitNodes } from '../interfaces/platform/serve.ts'
import { isOfKind, type Change } from '../storage/store/registry.ts'
import { UNKNOWN_NODES } from '../storage/store/nodes.ts'
import { StoreUnwritable } from '../storage/store/unwritable.ts'
import type { Core } from './open-core.ts'
import type { GatewayServices } from './open-gateway.ts'
import type { Identity } from './open-identity.ts'
import type { Shared } from './open-shared.ts'
import type { Resources, ResourcesOptions } from './resources.ts'

export interface NodesOptions {
  readonly core: Core
  readonly gateway: Pick<GatewayServices, 'port'>
  readonly identity: Identity
  readonly resources: Pick<Resources, 'proxies'>
}

export async function openNodes(options: NodesOptions): Promise<void> {
  const { nodes, metrics, shared } = options.core
  metrics.measured('node_lag', 'Changes of the registry that this node does not serve yet', () => nodes.progress().lag)
  metrics.measured('nodes_silent', 'Other nodes in the list that are not live', () => nodes.progress().silentNodes)
  metrics.measured(
    'node_clock_offset_seconds',
    'How far the clock of this node is ahead of that of PostgreSQL, at least; negative: behind',
    () => nodes.progress().clockOffsetMs / 1_000,
  )
  const copyLag = (): number => (shared === null ? 0 : (shared.copyLag() ?? Infinity))
  metrics.measured('last_good_lag', 'Changes of the registry that the copy on the disk of this node lacks', copyLag)
  if (shared === null) await serveOwnChanges(options.core)
  else followOthers(options, shared)
}

/** A single node serves its own changes when their commands answer. */
async function serveOwnChanges({ registry, nodes, opened }: Core): Promise<void> {
  const end = await registry.end()
  nodes.serve(end)
  opened(
    'own changes',
    registry.watch(end, ({ position }) => nodes.serve(position)),
  )
}

function followOthers(options: NodesOptions, shared: Shared): void {
  const { nodes, readFrom, freshness, preparations, incarnation } = shared
  const { registry, clock, log, count, opened } = options.core
  const follows = createFollows(options)
  shared.keepCopy(new Set(follows.keys()))
  const follower = followRegistry(
    {
      registry,
      clock,
      follows,
      onReached: (position) => nodes.serve(position),
      onFailed(cause, { document: { kind, id } }, isContained) {
        if (isContained) return noteWithheld(options.core, cause)
        count('change_not_applied')
        log.error(
          { err: cause, kind, id },
          'this node could not apply a change that another node made, and serves the state before it; it tries again',
        )
      },
    },
    readFrom,
  )
  opened('changes of other nodes', () => follower.stop())
  // Before the first position: from then on other nodes wait for answers.
  opened('preparations', preparations.answer(incarnation, options.resources.proxies.prepare))
  nodes.serve(readFrom)
  if (freshness !== null) opened('staleness', freshness.watch())
}

/** Serves what the registry has when one of several nodes starts; an API that cannot be compiled does not prevent the start. */
export async function serveStoredApis(
  core: Pick<Core, 'backends' | 'count' | 'log'>,
  proxies: Resources['proxies'],
  stored: AsyncIterable<StoredPlan>,
  withheld: Pick<WithheldRetries, 'add'>,
): Promise<void> {
  for await (const start of proxies.startApis(stored)) {
    try {
      const active = await start()
      if (active !== null) core.backends.serves(active.plan)
    } catch (cause) {
      if (!(cause instanceof RevisionWithheld)) throw cause
      noteWithheld(core, cause)
      withheld.add(cause.api)
    }
  }
}

/** The part of several nodes in an activation. */
export function preparesOn(
  { preparations, incarnation }: Pick<Shared, 'preparations' | 'incarnation'>,
  { count, log }: Pick<Core, 'count' | 'log'>,
): Pick<ResourcesOptions, 'askNodes' | 'onUnprepared'> {
  return {
    askNodes: (request) => preparations.ask(incarnation, request),
    onUnprepared(cause) {
      count('revision_not_prepared')
      log.error(
        { err: cause },
        'a revision could not be prepared on this node; the activation on another node is refused',
      )
    },
  }
}

function noteWithheld({ count, log }: Pick<Core, 'count' | 'log'>, cause: unknown): void {
  count('revision_withheld')
  log.error({ err: cause }, 'an API cannot be served on this node; its calls get 503 here until a revision compiles')
}

function createFollows({ core, gateway, identity, resources }: NodesOptions): ReadonlyMap<string, Follow> {
  const grants = { registry: core.registry, gateway: gateway.port }
  const ofDocument = ({ document: { kind, id } }: Change): string => `${kind}/${id}`
  const { tokenRevocations, personRevocations, federation, rotation } = identity
  const follows = new Map<string, Follow>([
    [REVOKED_TOKEN_KIND, { lane: ofDocument, apply: tokenRevocations.follow }],
    [REVOKED_PERSON_KIND, { lane: ofDocument, apply: personRevocations.follow }],
    [IDENTITY_PROVIDER_KIND, { lane: () => IDENTITY_PROVIDER_KIND, apply: federation.follow }],
    [SIGNING_KEY_KIND, { lane: () => SIGNING_KEY_KIND, apply: () => rotation.follow() }],
  ])
  for (const kind of GRANT_KINDS)
    follows.set(kind, { lane: ofDocument, apply: (change) => followGrants(grants, change) })
  for (const kind of [API_KIND, PROXY_KIND, OPENSLA_SPEC_KIND]) {
    follows.set(kind, {
      lane: (change) => `api/${apiOf(change)}`,
      apply: async (change) => void (await resources.proxies.follow(apiOf(change))),
      isContained: (cause) => cause instanceof RevisionWithheld,
    })
  }
  return follows
}

function apiOf({ document }: Change): string {
  if (isOfKind(document, PROXY_KIND) || isOfKind(document, OPENSLA_SPEC_KIND)) return document.body.api
  return document.id
}

/**
 * If the position cannot be read, it is unknown which nodes serve the change: the answer says so. If nodes refuse calls without the
 * registry, it is given once every node that lacks the change does.
 */
export function createAwaitNodes({
  registry,
  nodes,
  freshness,
}: Pick<Shared, 'registry' | 'nodes' | 'freshness'>): AwaitNodes {
  return async () => {
    try {
      return await nodes.acknowledged(await registry.end())
    } catch (cause) {
      if (!(cause instanceof StoreUnwritable)) throw cause
      if (freshness !== null) await nodes.acknowledged(Infinity)
      return [UNKNOWN_NODES]
    }
  }
}

/** Returns why a node refuses all calls; null: it does not. */
export function staleReason(shared: Pick<Shared, 'freshness'> | null): string | null {
  return shared?.freshness?.isStale() === true ? 'This node cannot read the registry.' : null
}

/** A revocation at the token endpoints is answered like a command: when every node rejects the token. */
export function awaitRevocations(oauth: OauthEndpoint, awaitNodes: AwaitNodes): OauthEndpoint {
  return async (call) => {
    const answer = await oauth(call)
    if (call.endpoint !== 'revoke' || answer.status !== 200) return answer
    const pending = await awaitNodes()
    if (pending.length === 0) return answer
    return { ...answer, headers: { ...answer.headers, [PENDING_NODES_HEADER]: pending.join(', ') } }
  }
}
