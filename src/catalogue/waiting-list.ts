/**
 * Subscriptions that wait for capacity, first come first served.
 *
 * It hears of every change that may free some (subscriptions that end, rest or change, declarations), and lets
 * in whoever waits longest for as long as there is room. Whoever does not fit holds up those behind: a large
 * one would otherwise wait for ever.
 */

import { step } from '../actors/step.ts'
import { subscription as machine } from '../actors/subscription.ts'
import type { Log } from '../runtime/log.ts'
import { RevisionConflict, type Change, type Registry } from '../store/registry.ts'
import type { Capacity } from './capacity.ts'
import type { Credentials } from './credentials.ts'
import { subscriptionWrite, type SubscriptionBody } from './subscription-document.ts'

export interface WaitingList {
  /** Lets in who fits now, and goes on by itself. */
  start(): Promise<void>
  /** Resolves when what was heard of so far is done. */
  settled(): Promise<void>
  stop(): void
}

export interface WaitingListOptions {
  readonly registry: Registry
  readonly capacity: Capacity
  readonly credentials: Pick<Credentials, 'announce'>
  readonly log: Pick<Log, 'error'>
  readonly count: (reason: string) => void
}

const STATE = 'WaitlistedForCapacity'
const PAGE = 500

export function createWaitingList({ registry, capacity, credentials, log, count }: WaitingListOptions): WaitingList {
  /** APIs that are to be looked at; each once, however much is heard of it. */
  const asked = new Set<string>()
  let working: Promise<void> = Promise.resolve()
  let unwatch = (): void => {}
  let isStopped = false

  function ask(api: string): void {
    if (api === '' || isStopped || asked.has(api)) return
    asked.add(api)
    working = working.then(async () => {
      asked.delete(api)
      if (isStopped) return
      try {
        await capacity.inTurn(api, () => admit(api))
      } catch (cause) {
        count('waiting_list_failed')
        log.error({ err: cause, api }, 'the waiting list of an API could not be looked at; the next change does')
      }
    })
  }

  async function admit(api: string): Promise<void> {
    while (!isStopped) {
      const [first] = await registry.list<SubscriptionBody>('subscription', { where: { api, state: STATE }, limit: 1 })
      if (first === undefined || !(await capacity.hasRoom(api, first.body.slaVariant))) return
      const { id, tenant, revision, body } = first
      const result = step(machine, body.actor, { type: 'capacity.freed' })
      if ('refused' in result) throw new Error(`${id} waits and takes no capacity`)
      const write = subscriptionWrite(id, tenant, revision, { ...body, actor: result.next })
      try {
        await registry.commit({ tenant, consumer: 'system' }, 'subscription.capacity.freed', [write])
      } catch (cause) {
        // It was cancelled at this moment: the next is asked.
        if (cause instanceof RevisionConflict) continue
        throw cause
      }
      await credentials.announce(tenant, id)
    }
  }

  function hear({ document: { kind, body } }: Change): void {
    if (kind === 'subscription') ask((body as SubscriptionBody).api)
    if (kind === 'openslaspec') ask((body as { readonly api: string }).api)
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), hear)
      for (let after = ''; ;) {
        const where = { state: STATE }
        const page = await registry.list<SubscriptionBody>('subscription', { where, after, limit: PAGE })
        for (const { body } of page) ask(body.api)
        if (page.length < PAGE) break
        after = page.at(-1)?.id ?? ''
      }
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
    },
  }
}
