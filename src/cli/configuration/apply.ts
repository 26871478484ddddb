/** Makes changes one after another; the first that fails ends the run, and the report names what was not done. */

import { CommandFailed } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import { describeChange, type Change } from './differences.ts'
import type { Context } from './handler.ts'
import { handlerOf } from './kinds.ts'
import { Refused } from './platform.ts'
import { keyOf } from './resource.ts'

export interface ApplyReport {
  readonly done: number
  /** The reason why the run ended early; null: it did not. */
  readonly failure: string | null
  /** The changes that were not made, the failed one first. */
  readonly left: readonly Change[]
}

export type OnDone = (line: string) => void

export async function applyChanges(context: Context, changes: readonly Change[], onDone: OnDone): Promise<ApplyReport> {
  for (const [index, change] of changes.entries()) {
    try {
      const remaining = await applyChange(context, change)
      const [first] = describeChange(change).split('\n')
      onDone(remaining === null ? first! : `${first!} (${remaining})`)
    } catch (cause) {
      if (!(cause instanceof Refused) && !(cause instanceof CommandFailed)) throw cause
      return { done: index, failure: explain(change, cause), left: changes.slice(index) }
    }
  }
  return { done: changes.length, failure: null, left: [] }
}

function explain(change: Change, cause: Error): string {
  const key = toPlain(keyOf(change.action === 'create' ? change.wanted : change.found))
  if (cause instanceof Refused && cause.isConflict) return `${key} has changed since it was read.`
  return `${key}: ${cause.message}`
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
