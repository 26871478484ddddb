/** Makes changes one after another, except for those that depend on one that was not made. */

import { CommandFailed, EXIT_NEGATIVE, EXIT_TROUBLE } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import { describeChange, resourceOf, type Change } from './differences.ts'
import type { Context } from './handler.ts'
import { handlerOf } from './kinds.ts'
import { Refused } from './platform.ts'
import { referencesOf } from './references.ts'
import { keyOf } from './resource.ts'

/** Why a change was not made, and the exit code for it. */
export interface Failure {
  readonly text: string
  readonly exitCode: CommandFailed['exitCode']
}

export interface ApplyReport {
  readonly done: number
  /** The resources that wait for an approval or for capacity, which the tool cannot change. */
  readonly waiting: number
  readonly failures: readonly Failure[]
  /** The changes that were not made: those that failed, and those that were not tried. */
  readonly left: readonly Change[]
}

export type OnDone = (line: string) => void

export async function applyChanges(context: Context, changes: readonly Change[], onDone: OnDone): Promise<ApplyReport> {
  const failures: Failure[] = []
  const left: Change[] = []
  const waiting = changes.filter(({ action }) => action === 'wait').length
  for (const change of changes) {
    if (change.action === 'wait') {
      onDone(headOf(change, context))
      continue
    }
    // The service fails or cannot be reached: the others would wait for it as well.
    const isOver = failures.at(-1)?.exitCode === EXIT_TROUBLE
    if (isOver || left.some((other) => dependsOn(change, other))) {
      left.push(change)
      continue
    }
    try {
      const remaining = await applyChange(context, change)
      const first = headOf(change, context)
      onDone(remaining === null ? first : `${first} (${remaining})`)
    } catch (cause) {
      failures.push(explain(change, cause, context))
      left.push(change)
    }
  }
  return { done: changes.length - waiting - left.length, waiting, failures, left }
}

/** A resource needs those that it names; it is removed after those that name it. */
function dependsOn(change: Change, other: Change): boolean {
  const [one, before] = [resourceOf(change), resourceOf(other)]
  if (change.action === 'remove') return referencesOf(before).includes(keyOf(one))
  return keyOf(one) === keyOf(before) || referencesOf(one).includes(keyOf(before))
}

export function headOf(change: Change, { hide }: Pick<Context, 'hide'>): string {
  return describeChange(change, hide).split('\n')[0]!
}

/** Throws what is neither a refusal nor a failure that is explained. */
function explain(change: Change, cause: unknown, { hide }: Context): Failure {
  if (!(cause instanceof Refused) && !(cause instanceof CommandFailed)) throw cause
  const key = toPlain(hide(keyOf(resourceOf(change))))
  const exitCode = cause instanceof Refused ? exitCodeOf(cause) : cause.exitCode
  const hasChanged = cause instanceof Refused && cause.isConflict
  return { exitCode, text: hasChanged ? `${key} has changed since it was read.` : `${key}: ${hide(cause.message)}` }
}

/** A service that fails is trouble, not a refusal. */
export function exitCodeOf({ status }: Refused): CommandFailed['exitCode'] {
  return status < 500 ? EXIT_NEGATIVE : EXIT_TROUBLE
}

async function applyChange(context: Context, change: Exclude<Change, { action: 'wait' }>): Promise<string | null> {
  const handler = handlerOf(resourceOf(change).kind)!
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
    case 'halt':
      await handler.halting?.halt(context, change.wanted)
      return null
  }
}
