/**
 * Deprecates and retires APIs.
 *
 * Every response of a deprecated API carries deprecation headers. When the command that retires an API returns,
 * every gateway thread responds 410 for it. While subscriptions are active, an API can be retired by force only;
 * the retirement date then has no effect.
 */

import { API_ACTIONS, apiLifecycle, type ApiEvent } from './api-machine.ts'
import { step } from '../command/persisted-machine.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import { activeSubscriptionsOf } from './active-subscriptions.ts'
import { API_KIND, apiActor, apiWrite, showApi, type Api, type ApiBody, type ApiState } from './apis.ts'
import { commit, find, invalidAt, refusedStep, stateConflict, toTime } from '../command/commands.ts'
import { dropDueWrite, dueWrite } from '../command/due-times.ts'
import { eventWrite } from '../command/event-outbox.ts'
import type { Proxies } from './proxies.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface DeprecationInput {
  readonly retirementDate: string
  readonly successor?: string
  readonly note?: string
}

export interface Retirement {
  deprecate(author: Author, api: string, input: DeprecationInput): Promise<Api>
  /** Throws `Problem('subscriptions_active')` with the remaining subscriptions, unless forced. */
  retire(author: Author, api: string, isForced: boolean): Promise<Api>
  /** Retires the API at its retirement date. Returns false if it still has active subscriptions. */
  retirementDue(tenant: string, api: string): Promise<boolean>
}

export interface RetirementOptions {
  readonly registry: Registry
  readonly proxies: Pick<Proxies, 'change'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly createId: CreateId
  readonly mutex: KeyedMutex
}

export const RETIREMENT_DUE = 'retirement'

export function createRetirement(options: RetirementOptions): Retirement {
  const { registry, mutex } = options

  return {
    deprecate: (author, api, input) => mutex.runExclusive([api], () => deprecate(options, author, api, input)),
    retire: (author, api, isForced) => mutex.runExclusive([api], () => retire(options, author, api, isForced)),
    async retirementDue(tenant, api) {
      const entry = await registry.get(API_KIND, api)
      if (entry === null || entry.tenant !== tenant || entry.body.state !== 'Deprecated') return true
      try {
        await mutex.runExclusive([api], () => retire(options, { tenant, consumer: 'system' }, api, false))
        return true
      } catch (cause) {
        if (cause instanceof Problem && cause.code === 'subscriptions_active') return false
        throw cause
      }
    },
  }
}

async function deprecate(
  { registry, proxies, clock, createId }: RetirementOptions,
  author: Author,
  api: string,
  input: DeprecationInput,
): Promise<Api> {
  const { tenant } = author
  const entry = await find(registry, tenant, API_KIND, api)
  const retirementMs = Date.parse(input.retirementDate)
  if (!(retirementMs > clock.nowMs())) throw invalidAt('/retirementDate', 'The retirement date must be in the future.')
  const successor = input.successor ?? null
  if (successor !== null && (successor === api || (await registry.get(API_KIND, successor))?.tenant !== tenant)) {
    throw invalidAt('/successor', 'The successor must be another existing API.')
  }
  const retirementDate = toTime(retirementMs)
  const body: ApiBody = {
    ...stepApi(entry, { type: 'deprecated' }),
    deprecatedAt: toTime(clock.nowMs()),
    retirementDate,
    successor,
  }
  const data = { api, retirementDate, successor, note: input.note ?? null }
  await proxies.change(api, body, (writes) =>
    commit(registry, author, 'api.deprecate', [
      apiWrite(api, tenant, entry.revision, body),
      dueWrite({ tenant, kind: RETIREMENT_DUE, subject: api, atMs: retirementMs }),
      eventWrite(createId, tenant, 'VersionDeprecated', data),
      ...writes,
    ]),
  )
  return showApi(await find(registry, tenant, API_KIND, api))
}

async function retire(
  { registry, proxies, createId }: RetirementOptions,
  author: Author,
  api: string,
  isForced: boolean,
): Promise<Api> {
  const { tenant } = author
  const entry = await find(registry, tenant, API_KIND, api)
  const active = await activeSubscriptionsOf(registry, tenant, api)
  if (entry.body.state === 'Deprecated' && active.length > 0 && !isForced) {
    throw new Problem(
      'subscriptions_active',
      'The API has active subscriptions. Wait until they end, or retire the API with `force`.',
      { extensions: { subscriptions: active } },
    )
  }
  const body = stepApi(entry, { type: 'retired', activeSubscriptions: active.length, isForced })
  const { retirementDate, successor } = body
  const due =
    retirementDate === null ? [] : await dropDueWrite(registry, RETIREMENT_DUE, api, Date.parse(retirementDate))
  await proxies.change(api, body, (writes) =>
    commit(registry, author, 'api.retire', [
      apiWrite(api, tenant, entry.revision, body),
      eventWrite(createId, tenant, 'VersionSunset', { api, successor, subscriptions: active }),
      ...due,
      ...writes,
    ]),
  )
  return showApi(await find(registry, tenant, API_KIND, api))
}

/** Throws `Problem('state_conflict')` if the API does not accept the event. */
function stepApi({ body }: Document<ApiBody>, event: ApiEvent): ApiBody {
  // The platform's own API has no lifecycle.
  if (body.ownScopes !== undefined) throw stateConflict({ state: body.state, allowed: [] })
  const result = step(apiLifecycle, apiActor(body), event)
  if ('refused' in result) throw refusedStep(result.refused, API_ACTIONS)
  return { ...body, actor: result.next, state: result.next.value as ApiState }
}
