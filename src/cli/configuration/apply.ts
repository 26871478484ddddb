/** Makes changes one after another, and reports those that were not made. */

import { CommandFailed, EXIT_NEGATIVE, EXIT_TROUBLE } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import { describeChange, type Change } from './differences.ts'
import type { Context } from './handler.ts'
import { handlerOf } from './kinds.ts'
import { Refused } from './platform.ts'
import { keyOf } from './resource.ts'

/** Why a change was not made, and the exit code for it. */
export interface Failure {
  readonly text: string
  readonly exitCode: CommandFailed['exitCode']
}

export interface ApplyReport {
  readonly done: number
  /** The reason why the run ended early; null: it did not. */
  readonly failure: Failure | null
  /** The changes that were not made, the failed one first. */
  readonly left: readonly Change[]
}

export type OnDone = (line: string) => void

export async function applyChanges(context: Context, changes: readonly Change[], onDone: OnDone): Promise<ApplyReport> {
  for (const [index, change] of changes.entries()) {
    try {
      const remaining = await applyChange(context, change)
      const first = headOf(change, context)
      onDone(remaining === null ? first : `${first} (${remaining})`)
    } catch (cause) {
      return { done: index, failure: explain(change, cause, context), left: changes.slice(index) }
    }
  }
  return { done: changes.length, failure: null, left: [] }
}

/** Makes changes that do not depend on each other. Returns a failure for each that was not made. */
export async function applyAll(
  context: Context,
  changes: readonly Change[],
  onDone: OnDone,
): Promise<readonly Failure[]> {
  const failures: Failure[] = []
  for (const change of changes) {
    try {
      await applyChange(context, change)
      onDone(headOf(change, context))
    } catch (cause) {
      failures.push(explain(change, cause, context))
      // The service cannot be reached: the others would fail as well.
      if (!(cause instanceof Refused)) break
    }
  }
  return failures
}

export function headOf(change: Change, { hide }: Pick<Context, 'hide'>): string {
  return describeChange(change, hide).split('\n')[0]!
}

/** Throws what is neither a refusal nor a failure that is explained. */
function explain(change: Change, cause: unknown, { hide }: Context): Failure {
  if (!(cause instanceof Refused) && !(cause instanceof CommandFailed)) throw cause
  const key = toPlain(hide(keyOf(change.action === 'create' ? change.wanted : change.found)))
  const exitCode = cause instanceof Refused ? exitCodeOf(cause) : cause.exitCode
  const hasChanged = cause instanceof Refused && cause.isConflict
  return { exitCode, text: hasChanged ? `${key} has changed since it was read.` : `${key}: ${hide(cause.message)}` }
}

/** A service that fails is trouble, not a refusal. */
export function exitCodeOf({ status }: Refused): CommandFailed['exitCode'] {
  return status < 500 ? EXIT_NEGATIVE : EXIT_TROUBLE
}

async function applyChange(context: Context, change: Change): Promise<string | null> {
  const handler = handlerOf(change.action === 'create' ? change.wanted.kind : change.found.kind)!
  switch (change.action) {
    case 'create':
      return handler.create(context, change.wanted)
    case 'change': {
      const changed = new Set(change.differences.map(({ field }) => field))
      return handler.change(context, change.found, change.wanted, changed)
    }
    case 'remove':
      await handler.remove?.(context, change.found)
      return null
  }
}
