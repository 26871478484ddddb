/**
 * Canaries: the staging revision serves a part of the callers, and the active one the others, until it is activated for all or
 * discarded.
 */

import { commit, find, invalidAt } from '../command/commands.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { CanaryRule } from '../../boundary/plan/canary.ts'
import type { Author, Document } from '../../storage/store/registry.ts'
import { isFromDisk } from '../../storage/store/unwritable.ts'
import {
  activateRevision,
  prepare,
  refuseUnprepared,
  swapPrepared,
  swapWith,
  type ActivationOptions,
} from './activate-revision.ts'
import { API_KIND, apiWrite } from './apis.ts'
import { checkStaged } from './backend-address.ts'
import { toPrepareRequest } from './prepared-revisions.ts'
import { PROXY_KIND, activeDeployment, canaryOf, proxyWrite, type ProxyBody } from './proxy-document.ts'
import { steppedProxy } from './proxy-revisions.ts'
import type { ServingPlans } from './serving-plan.ts'
import { refuseRetired } from './stage-revision.ts'

export interface CanaryInput {
  readonly percent?: number
  readonly consumers?: readonly string[]
}

/** Returns those of the ids that are consumers of a tenant. */
export type ConsumersOf = (tenant: string, ids: readonly string[]) => Promise<ReadonlySet<string>>

export interface CanaryOptions extends ActivationOptions {
  readonly consumersOf: ConsumersOf
}

/** Activates the staging revision: for all callers, or as a canary for those of `input`. */
export async function activate(
  options: CanaryOptions,
  planOf: ServingPlans,
  author: Author,
  id: string,
  input: CanaryInput,
): Promise<void> {
  const rule = toCanaryRule(input)
  if (rule === null) return activateRevision(options, planOf, author, id)
  await setCanary(options, planOf, author, id, rule)
}

/** Returns null if the input is for all callers. Throws if it is ambiguous. */
function toCanaryRule({ percent, consumers }: CanaryInput): CanaryRule | null {
  if (percent === undefined) return consumers === undefined ? null : { consumers }
  if (consumers !== undefined) throw invalidAt('/consumers', 'Set at most one of `percent` and `consumers`.')
  return { percent }
}

/** Makes the staging revision a canary, or changes whom it serves. */
async function setCanary(
  options: CanaryOptions,
  planOf: ServingPlans,
  author: Author,
  id: string,
  rule: CanaryRule,
): Promise<void> {
  const { registry, clock, backendRule } = options
  const { tenant } = author
  const current = await find(registry, tenant, PROXY_KIND, id)
  const body = steppedProxy(current.body, { type: 'canary.set', atMs: clock.nowMs(), rule })
  // Read before the declarations, as for an activation.
  const entry = await find(registry, tenant, API_KIND, body.api)
  refuseRetired(entry.body)
  const canary = canaryOf(body)
  const active = activeDeployment(body)
  if (canary === null || active === null) throw new Error(`proxy ${id} has lost a deployment`)
  await refuseUnknown(options, tenant, rule)
  await checkStaged(backendRule, tenant, canary.deployment.backend, clock.nowMs())
  const plan = await planOf(current, body, active, entry.body)
  await swapWith(options, plan, async () => {
    refuseUnprepared((await options.askNodes?.(toPrepareRequest(plan))) ?? [])
    await commit(registry, author, 'proxy.canary', [
      proxyWrite(id, tenant, current.revision, body),
      apiWrite(body.api, tenant, entry.revision, entry.body),
    ])
  })
}

/** Discards the staging revision. If it is a canary, the active revision serves all callers before this returns. */
export async function discardRevision(
  options: ActivationOptions,
  planOf: ServingPlans,
  author: Author,
  id: string,
): Promise<void> {
  const { registry, clock } = options
  const current = await find(registry, author.tenant, PROXY_KIND, id)
  const body = steppedProxy(current.body, { type: 'revision.discarded', atMs: clock.nowMs() })
  const write = proxyWrite(id, author.tenant, current.revision, body)
  const active = canaryOf(current.body) === null ? null : activeDeployment(body)
  if (active === null) return commit(registry, author, 'proxy.discard', [write])
  await withdrawCanary(options, planOf, author, { current, body, active, write })
}

interface Withdrawal {
  readonly current: Document<ProxyBody>
  readonly body: ProxyBody
  readonly active: NonNullable<ReturnType<typeof activeDeployment>>
  readonly write: ReturnType<typeof proxyWrite>
}

async function withdrawCanary(
  options: ActivationOptions,
  planOf: ServingPlans,
  author: Author,
  { current, body, active, write }: Withdrawal,
): Promise<void> {
  const entry = await find(options.registry, author.tenant, API_KIND, body.api)
  const next = await planOf(current, body, active, entry.body)
    .then((plan) => prepare(options, plan))
    .catch((cause: unknown) => {
      throw isFromDisk(cause) ? cause : toUnprepared(cause)
    })
  await swapPrepared(options, next, async () => {
    // A refusal prevents nothing, because a canary that fails has to end.
    await options.askNodes?.(toPrepareRequest(next.plan))
    await commit(options.registry, author, 'proxy.discard', [
      write,
      apiWrite(body.api, author.tenant, entry.revision, entry.body),
    ])
  })
}

/** Returns the problem of an API whose active revision cannot serve all callers. */
function toUnprepared(cause: unknown): unknown {
  if (cause instanceof Problem && cause.code !== 'specification_invalid') return cause
  const reason = cause instanceof Problem ? cause.message : 'an internal fault.'
  const detail = `The active revision cannot be prepared, so that the canary keeps its callers: ${reason}`
  const extensions = { state: 'canary', allowed: ['activate'] } as const
  return new Problem('state_conflict', detail, { cause, extensions })
}

async function refuseUnknown({ consumersOf }: CanaryOptions, tenant: string, rule: CanaryRule): Promise<void> {
  if (!('consumers' in rule)) return
  const known = await consumersOf(tenant, rule.consumers)
  const position = rule.consumers.findIndex((consumer) => !known.has(consumer))
  if (position >= 0) throw invalidAt(`/consumers/${position}`, 'The consumer does not exist.')
}
