/**
 * Registers fastify routes for declared operations.
 *
 * Validation, limits and scopes follow the declaration. A change with `If-Match` is made only if the ETag of the resource matches.
 * The answer of a creation has a `Location`, and that of a change the ETag of the resource.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { KeyedMutex } from '../../control/command/keyed-mutex.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { locationOf, tagAnswer } from './answer-tag.ts'
import { CONSUMER_HEADER } from './caller-owner.ts'
import { bodyOf } from './document-bodies.ts'
import { IDEMPOTENCY_HEADER, idempotencyKey, type Once } from './idempotency.ts'
import { changedResource, type ChangedResource } from './changed-resource.ts'
import { matchesEtag, tagOf } from './conditional.ts'
import type { Call, Handler, Handlers, Operation, Operations, OwnedKind } from './operation.ts'
import type { Schema } from './schema-type.ts'
import { NO_BODY, reference } from './schemas.ts'

export interface OperationConfig extends Operation {
  readonly operationId: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: OperationConfig
  }
}

export interface ServeOptions {
  readonly app: FastifyInstance
  readonly once: Once
  readonly mutex: KeyedMutex
  readonly baseUrl: () => string
  readonly owners: OwnerChecks
  readonly awaitNodes: AwaitNodes
}

/** Names the nodes that do not serve a change yet, although it is committed. */
export const PENDING_NODES_HEADER = 'Tollgate-Pending-Nodes'

/** Resolves when every node serves what is committed so far, with the names of the nodes that do not yet. */
export type AwaitNodes = () => Promise<readonly string[]>

/** Throws `Problem('not_found')` unless the resource belongs to the consumer. */
export type OwnerChecks = Readonly<Record<OwnedKind, (tenant: string, id: string, consumer: string) => Promise<void>>>

export type Serve = <Table extends Operations>(operations: Table, handlers: Handlers<Table>) => void

export function createServe({ app, baseUrl, once, mutex, owners, awaitNodes }: ServeOptions): Serve {
  /** The operations of all tables so far, because one may change a resource of an earlier table. */
  const served: Record<string, Operation> = {}
  const readers: Record<string, Handler> = {}
  return (operations, handlers) => {
    // Validation establishes the types that each handler declares for its call.
    const table = handlers as unknown as Readonly<Record<string, Handler>>
    Object.assign(served, operations)
    Object.assign(readers, table)
    for (const [operationId, operation] of Object.entries<Operation>(operations)) {
      const handler = table[operationId]
      if (handler === undefined) throw new Error(`${operationId} has no handler`)
      const { method, path, status } = operation
      const location = locationOf(operation)
      const findChanged = changedResource(served, readers, operation)
      const tagOf = tagAnswer(served, operation)
      app.route({
        method,
        url: path,
        ...toRouteOptions({ operationId, ...operation }),
        handler: async (request, reply) => {
          const call = toCall(request)
          await checkOwner(owners, operation, call)
          const work = async (): Promise<unknown> => {
            if (findChanged === null) return handler(call, reply)
            const changed = await findChanged(call, reply)
            // The lock keeps the resource unchanged between the check of `If-Match` and the change.
            return mutex.runExclusive(changed === null ? [] : [changed.key], async () => {
              await checkMatch(request, changed)
              return handler(call, reply)
            })
          }
          reply.code(status)
          const answer = await (method === 'POST' ? once(call, reply, work) : work())
          if (method !== 'GET') notePending(reply, await awaitNodes())
          if (location !== null) void reply.header('Location', baseUrl() + fill(location, call.params, answer))
          const tag = tagOf(answer)
          if (tag !== null) void reply.header('ETag', tag)
          return status === 204 ? reply.send() : answer
        },
      })
    }
  }
}

/** Throws the same problem for a resource of another consumer as for one that does not exist. */
async function checkOwner(owners: OwnerChecks, { own }: Operation, { owner, author, params }: Call): Promise<void> {
  if (owner === null || own === undefined || own === 'filtered') return
  const { id = '' } = params
  await owners[own](author.tenant, id, owner)
}

/** Returns the route options of an operation, public or not. */
export function toRouteOptions(operation: OperationConfig): RouteShorthandOptions {
  const { method, query, body, bodyBytesMax, endless } = operation
  const headers = headersOf(operation)
  return {
    exposeHeadRoute: method === 'GET' && endless !== true,
    ...(bodyBytesMax !== undefined && { bodyLimit: bodyBytesMax }),
    schema: {
      querystring: query ?? NO_QUERY,
      ...(headers && { headers: toHeaderSchema(headers) }),
      ...(method !== 'GET' && { body: body ?? NO_BODY }),
    },
    config: { operation },
  }
}

/** Returns the schemas of the headers that an operation reads, by name. */
export function headersOf({
  method,
  headers,
  own,
}: Pick<Operation, 'method' | 'headers' | 'own'>): Operation['headers'] {
  const all = {
    ...headers,
    ...(method === 'POST' && { [IDEMPOTENCY_HEADER]: idempotencyKey }),
    ...(own !== undefined && { [CONSUMER_HEADER]: chosenConsumer }),
  }
  return Object.keys(all).length === 0 ? undefined : all
}

const chosenConsumer = {
  ...reference,
  description: 'With the own width: the consumer to act for, if the roles of the person cover several.',
} as const

/** Node reports header names in lower case. */
function toHeaderSchema(headers: Readonly<Record<string, Schema>>): Schema {
  const properties = Object.entries(headers).map(([name, schema]) => [name.toLowerCase(), schema])
  return { type: 'object', properties: Object.fromEntries(properties) as Schema }
}

const NO_QUERY: Schema = { type: 'object', additionalProperties: false }

function toCall(request: FastifyRequest): Call {
  const { caller } = request
  if (caller === null) throw new Error('a route ran without a caller')
  const { owner } = request
  const { grant, agent, person } = caller
  return {
    params: request.params as Record<string, string>,
    query: request.query as Record<string, unknown>,
    body: bodyOf(request),
    caller,
    owner,
    author: {
      tenant: grant.tenant,
      consumer: grant.consumer,
      ...(agent !== '' && { agent }),
      ...(person !== '' && { person }),
    },
    request,
  }
}

/** Names the nodes where the change may not have taken effect yet. */
function notePending(reply: FastifyReply, nodes: readonly string[]): void {
  if (nodes.length > 0) void reply.header(PENDING_NODES_HEADER, nodes.join(', '))
}

/** Throws unless the resource matches `If-Match`; one that does not exist matches nothing (RFC 9110, section 13.1.1). */
async function checkMatch(request: FastifyRequest, changed: ChangedResource | null): Promise<void> {
  const condition = request.headers['if-match']
  if (condition === undefined) return
  if (changed !== null && matchesEtag(condition, tagOf(changed.reader, JSON.stringify(await changed.read())))) return
  throw new Problem('version_conflict', 'The resource has changed: `If-Match` does not match its ETag. Read it again.')
}

/** Fills the parameters of a path from the call, and a missing one from the answer: its member of that name, or its `id`. */
function fill(path: string, params: Call['params'], answer: unknown): string {
  const fields = answer as Readonly<Record<string, string>>
  const valueOf = (name: string): string => params[name] ?? fields[name] ?? fields['id'] ?? ''
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(valueOf(name)))
}
