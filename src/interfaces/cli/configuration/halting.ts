/**
 * Resources that people halt: consumers and people are disabled, subscriptions suspended.
 *
 * A dump has the state of those that are halted, so that a copy is halted as well. The state of others is left out: applying an older
 * folder resumes nothing.
 */

import type { Context, Handler } from './handler.ts'
import type { Fields, Found } from './resource.ts'

export interface HaltingRule {
  readonly path: string
  readonly running: string
  readonly halted: string
  /** The operations, at the end of the path of the resource. Missing: `state` is changed by PATCH. */
  readonly operations?: { readonly halt: string; readonly resume: string }
}

type Stated = Pick<Found, 'fields' | 'defaults'>

/** Returns the fields of a resource with its state. */
export function withState({ running, halted }: HaltingRule, state: unknown, fields: Fields): Stated {
  return state === halted ? { fields: { ...fields, state } } : { fields, defaults: { state: running } }
}

/** Adds the field `state` to a kind of resources. */
export function createHaltedHandler(handler: Handler, rule: HaltingRule): Handler {
  const { path, running, halted, operations } = rule

  async function setState({ platform }: Context, id: string, state: string): Promise<void> {
    const own = `${path}/${encodeURIComponent(id)}`
    const { tag } = await platform.get(own)
    if (operations === undefined) await platform.send('PATCH', own, { state }, tag)
    else await platform.send('POST', `${own}/${state === halted ? operations.halt : operations.resume}`, undefined, tag)
  }

  return {
    ...handler,
    fields: [...handler.fields, 'state'],
    halting: {
      isHalted: ({ state }) => state === halted,
      halt: (context, { kind, name }) => setState(context, context.names.idOf(kind, name), halted),
    },
    faultIn({ state = running, ...fields }) {
      const isKnown = state === running || state === halted
      return isKnown ? (handler.faultIn?.(fields) ?? null) : `state must be ${running} or ${halted}.`
    },
    create(context, wanted) {
      const { state: _, ...fields } = wanted.fields
      return handler.create(context, { ...wanted, fields })
    },
    async change(context, found, wanted, changed) {
      const others = changed.difference(new Set(['state']))
      const remaining = others.size === 0 ? null : await handler.change(context, found, wanted, others)
      // Access begins after everything else has changed.
      if (changed.has('state')) await setState(context, found.id, running)
      return remaining
    },
  }
}
