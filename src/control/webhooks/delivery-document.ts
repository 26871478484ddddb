/** The registry document of one event on its way to one receiver. */

import {
  DELIVERY_ACTIONS,
  webhookDelivery as machine,
  type DeliveryEvent,
  type DeliveryState,
} from './delivery-machine.ts'
import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import { documentKind, type Document, type Write } from '../../storage/store/registry.ts'
import { refusedStep } from '../command/commands.ts'
import type { EventBody, EventType } from '../command/event-outbox.ts'

export interface DeliveryAttempt {
  readonly time: string
  /** Null if there was no response. */
  readonly status: number | null
  readonly durationMs: number
  /** The beginning of the response, or why there was none. */
  readonly response: string
}

export interface DeliveryBody {
  readonly subscription: string
  /** Id of the event and of the message; the same in all attempts. */
  readonly event: string
  readonly type: EventType
  /** The data of a test; null for an event, whose document holds its data. */
  readonly sample: EventBody['data'] | null
  readonly nextAtMs: number
  /** The latest attempt last. */
  readonly attempts: readonly DeliveryAttempt[]
  readonly actor: PersistedActor
}

export interface Delivery {
  readonly id: string
  readonly webhookId: string
  readonly type: EventType
  readonly state: DeliveryState
  readonly nextAttempt: string | null
  readonly attempts: readonly DeliveryAttempt[]
}

export const DELIVERY_KIND = documentKind<DeliveryBody>('webhook_delivery', 'hidden')
const ATTEMPTS_MAX_STORED = 20

export function stateOfDelivery({ actor }: Pick<DeliveryBody, 'actor'>): DeliveryState {
  return actor.value as DeliveryState
}

export function triesOf({ actor }: Pick<DeliveryBody, 'actor'>): number {
  return (actor.context as { readonly tries: number }).tries
}

/** Throws `Problem('state_conflict')` if the state of the delivery does not accept the event. */
export function transitionDelivery(
  { actor }: Pick<DeliveryBody, 'actor'>,
  type: DeliveryEvent['type'],
): PersistedActor {
  const result = step(machine, actor, { type })
  if ('refused' in result) throw refusedStep(result.refused, DELIVERY_ACTIONS)
  return result.next
}

export function freshDelivery(
  subscription: string,
  event: { readonly id: string; readonly type: EventType; readonly sample?: EventBody['data'] },
  nowMs: number,
): DeliveryBody {
  const { id, type, sample = null } = event
  return { subscription, event: id, type, sample, nextAtMs: nowMs, attempts: [], actor: begin(machine, undefined) }
}

/** Returns the id and the write of a new delivery. */
export function newDelivery(
  createId: CreateId,
  tenant: string,
  body: DeliveryBody,
): { readonly id: string; readonly write: Write } {
  const id = createId('dlv')
  return { id, write: deliveryWrite(id, tenant, 0, body) }
}

export function withAttempt({ attempts }: DeliveryBody, attempt: DeliveryAttempt): readonly DeliveryAttempt[] {
  return [...attempts, attempt].slice(-ATTEMPTS_MAX_STORED)
}

export function deliveryWrite(id: string, tenant: string, expected: number, body: DeliveryBody): Write {
  const state = stateOfDelivery(body)
  const { subscription } = body
  return { kind: DELIVERY_KIND, id, tenant, expected, body, keys: { subscription, state } }
}

export function showDelivery({ id, body }: Document<DeliveryBody>): Delivery {
  const { event, type, attempts, nextAtMs } = body
  const state = stateOfDelivery(body)
  const nextAttempt = state === 'pending' ? new Date(nextAtMs).toISOString() : null
  return { id, webhookId: event, type, state, nextAttempt, attempts }
}
