/** Finds the resource that an operation changes, to compare it with `If-Match` and to lock it. */

import type { FastifyReply } from 'fastify'
import type { Call, Handler, Operation, Operations } from './operation.ts'

export interface ChangedResource {
  /** Equal for all changes of the resource. */
  readonly key: string
  readonly reader: Operation
  read(): Promise<unknown>
}

/** Returns null if the resource that the call names does not exist yet. */
export type FindChanged = (call: Call, reply: FastifyReply) => Promise<ChangedResource | null>

type HandlerTable = Readonly<Record<string, Handler>>

/** Returns how to find the resource that an operation changes; null if it changes none. */
export function changedResource(
  operations: Operations,
  handlers: HandlerTable,
  { changes, changesWith, changesOnly }: Operation,
): FindChanged | null {
  if (changes === undefined) return null
  const reader = operations[changes]
  const read = handlers[changes]
  if (reader === undefined || read === undefined)
    throw new Error(`${changes}, which reads a resource, is not served yet`)
  const names = namesIn(reader.path)

  const toResource = (call: Call, reply: FastifyReply): ChangedResource => {
    const params = names.map((name) => call.params[name])
    const key = `${changes} ${JSON.stringify([call.author.tenant, params, changesWith ? call.query : null])}`
    return { key, reader, read: () => read(call, reply) }
  }

  return async (call, reply) => {
    if (changesWith !== undefined) return toResource({ ...call, query: changesWith(call.body as never) }, reply)
    if (changesOnly === undefined) return toResource(call, reply)
    const only = await findOnly(handlers, changesOnly, call, reply)
    return only === undefined ? null : toResource({ ...call, params: { ...call.params, id: only.id } }, reply)
  }
}

interface Listed {
  readonly items: readonly { readonly id: string }[]
}

async function findOnly(
  handlers: HandlerTable,
  { list, query }: NonNullable<Operation['changesOnly']>,
  call: Call,
  reply: FastifyReply,
): Promise<Listed['items'][number] | undefined> {
  const read = handlers[list]
  if (read === undefined) throw new Error(`${list} is not served`)
  const { items } = (await read({ ...call, query: query(call.body as never) }, reply)) as Listed
  return items[0]
}

function namesIn(path: string): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
}
