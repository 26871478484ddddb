/**
 * One step of a state machine whose snapshot is stored in the registry: restore, send one event, return the next snapshot for the caller to store.
 *
 * If the state does not accept the event, the refusal names the state and its events, for the 409 response. Deadlines are sent as events. Machines use no timers, because a restored snapshot does not restart them.
 */

import {
  createActor,
  getNextSnapshot,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventFromLogic,
  type InputFrom,
} from 'xstate'
import type { ConflictAction } from '../../foundation/domain/problem.ts'

/** The stored snapshot of a machine, as plain JSON. */
export interface PersistedActor {
  readonly value: unknown
  readonly context: unknown
  readonly [field: string]: unknown
}

export interface StepRefused {
  readonly state: string
  readonly allowed: readonly string[]
}

/** The command that sends each event of a machine; null: no request sends it. */
export type EventActions<Event extends { readonly type: string } = { readonly type: string }> = Readonly<
  Record<Event['type'], ConflictAction | null>
>

export type Step = { readonly next: PersistedActor } | { readonly refused: StepRefused }

/** Returns the initial snapshot. */
export function begin<M extends AnyStateMachine>(machine: M, input: InputFrom<M>): PersistedActor {
  return persisted(createActor(machine, { input } as never).getPersistedSnapshot())
}

export function step<M extends AnyStateMachine>(machine: M, from: PersistedActor, event: EventFromLogic<M>): Step {
  const snapshot = createActor(machine, { snapshot: from } as never).getSnapshot() as unknown as AnyMachineSnapshot
  if (!snapshot.can(event as never)) {
    return { refused: { state: describeState(snapshot.value), allowed: allowedEvents(snapshot) } }
  }
  const next = getNextSnapshot(machine, snapshot as never, event)
  return { next: persisted(machine.getPersistedSnapshot(next as never)) }
}

function allowedEvents(snapshot: AnyMachineSnapshot): string[] {
  const types = new Set<string>()
  for (const node of snapshot._nodes) for (const type of node.ownEvents) types.add(String(type))
  return [...types].filter((type) => !type.startsWith('xstate.')).sort()
}

/** `{staging: 'none', active: 'serving'}` → `staging.none, active.serving`. */
function describeState(value: unknown): string {
  if (typeof value === 'string') return value
  return Object.entries(value as Record<string, unknown>)
    .map(([region, inner]) => `${region}.${describeState(inner)}`)
    .join(', ')
}

function persisted(snapshot: unknown): PersistedActor {
  return JSON.parse(JSON.stringify(snapshot)) as PersistedActor
}
