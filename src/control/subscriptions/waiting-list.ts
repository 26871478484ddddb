/**
 * The waiting list for capacity, first come first served: subscriptions, and tier changes that were approved.
 *
 * Watches every change that may free capacity (subscriptions that end, are suspended or change; declarations; products)
 * and admits waiting claims while they fit. A claim that does not fit at an API blocks the later claims there; otherwise a
 * large claim could wait forever.
 */

import type { Credentials } from '../access/credentials.ts'
import { APPROVAL_KIND } from '../approvals/approval-document.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'
import { OPENSLA_SPEC_KIND } from '../publishing/specifications.ts'
import { createRetries } from '../command/retries.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { isOfKind, RevisionConflict, type Change, type Document } from '../../storage/store/registry.ts'
import { apisOf, WAITING, type Capacity } from './capacity.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'
import { waitingClaims, waitingTenants, type WaitingClaim, type WaitingClaimsOptions } from './waiting-claims.ts'

export interface WaitingList {
  /** Admits the claims that fit now and follows the change feed. */
  start(): Promise<void>
  /** Resolves when all changes so far are processed. */
  settled(): Promise<void>
  stop(): void
}

export interface WaitingListOptions extends WaitingClaimsOptions {
  readonly capacity: Capacity
  readonly credentials: Pick<Credentials, 'announce'>
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  readonly log: Pick<Log, 'error'>
  readonly count: CountEvent
}

/** States of a subscription that neither reserve nor free capacity. */
const NEUTRAL_STATES = ['Pending', 'Rejected', WAITING]

/** Kinds whose every change may free capacity. */
const FREEING_KINDS: readonly string[] = [OPENSLA_SPEC_KIND, PRODUCT_KIND, APPROVAL_KIND]

export function createWaitingList(options: WaitingListOptions): WaitingList {
  const { registry, capacity, log, count } = options
  /** Tenants to process; several changes of a tenant coalesce. */
  const scheduled = new Set<string>()
  const retries = createRetries(options)
  let working: Promise<void> = Promise.resolve()
  let unwatch = (): void => {}
  let isStopped = false

  function schedule(tenant: string): void {
    if (isStopped || scheduled.has(tenant)) return
    scheduled.add(tenant)
    working = working.then(async () => {
      scheduled.delete(tenant)
      if (isStopped) return
      try {
        await capacity.runExclusive(tenant, () => admitAll(options, tenant, () => isStopped))
        retries.done(tenant)
      } catch (cause) {
        // Another command has changed a claim, and the change need not be one that is followed.
        if (!(cause instanceof RevisionConflict)) {
          count('waiting_list_failed')
          log.error({ err: cause, tenant }, 'waiting list of the tenant could not be processed; retrying')
        }
        retries.schedule(tenant, cause, () => schedule(tenant))
      }
    })
  }

  function onChange({ document }: Change): void {
    if (mayFree(document)) schedule(document.tenant)
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), onChange)
      for await (const tenant of waitingTenants(registry)) schedule(tenant)
      await working
    },
    async settled() {
      for (let last: Promise<void> | null = null; last !== working;) {
        last = working
        await last
      }
    },
    stop() {
      isStopped = true
      unwatch()
      retries.stop()
    },
  }
}

async function admitAll(options: WaitingListOptions, tenant: string, isStopped: () => boolean): Promise<void> {
  const { registry, capacity } = options
  const blocked = new Set<string>()
  for await (const waiting of waitingClaims(options, tenant)) {
    if (isStopped()) return
    const apis = await apisOf(registry, waiting.claim)
    if (apis.length > 0 && apis.every((api) => blocked.has(api))) continue
    const checks = await capacity.check(waiting.claim)
    if (checks.every(({ api, fits }) => fits && !blocked.has(api))) await admit(options, waiting)
    else for (const { api } of checks) blocked.add(api)
  }
}

async function admit({ registry, credentials }: WaitingListOptions, waiting: WaitingClaim): Promise<void> {
  const { tenant, subscription, action } = waiting
  await registry.commit({ tenant, consumer: 'system' }, action, await waiting.admit())
  await credentials.announce(subscription)
}

function mayFree(document: Document): boolean {
  if (isOfKind(document, SUBSCRIPTION_KIND)) {
    return document.revision > 1 && !NEUTRAL_STATES.includes(String(document.body.actor.value))
  }
  return FREEING_KINDS.includes(document.kind)
}
