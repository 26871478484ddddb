/**
 * Declaration of an operation of the platform API: purpose, scope, request and answer.
 *
 * A declaration is data. The route, its validation, its scope check, the types of its handler and its entry in `/openapi.json`
 * derive from it, so that they always agree. The operations are known before any of them is constructed.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../boundary/plan/caller.ts'
import type { ProblemCode } from '../../foundation/domain/problem.ts'
import type { Author } from '../../storage/store/registry.ts'
import type { FromSchema, PathParams, Schema } from './schema-type.ts'

/** Groups of operations, with their descriptions in `/openapi.json`. */
export const TAGS = {
  Approvals: 'Approval flows of subscriptions: decisions and changes of tier.',
  Audit: 'The audit log: every change with its author, time and revisions.',
  Catalogue: 'APIs, one per major version.',
  Consumers: 'Applications and agents that call APIs.',
  Events: 'Events, delivered to webhooks.',
  Governance: 'Programmes, compliance scores, policies, rules, decision records and principles.',
  Identity: 'External identity providers, and the signing keys of this service.',
  Products: 'Bundles of APIs with a common subscription.',
  Proxies: 'Deployments of APIs: staged, activated, discarded.',
  Risks: 'Risks of callers: position, live stream and refused calls.',
  Service: 'State of the service, and what needs attention.',
  Specifications: 'OpenAPI and OpenSLA documents as published.',
  Subscriptions: 'Access of consumers to APIs, with its credentials.',
  Tenants: 'Tenants of this gateway; for the operator only.',
  Usage: 'Consumption and its cost.',
  Users: 'People who sign in with a user name and a password.',
} as const

/** Kinds of resources that belong to a consumer. */
export type OwnedKind = 'subscription' | 'eventSubscription'

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** fastify's form, `/v1/proxies/:id`. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tag: keyof typeof TAGS
  /** `null`: public. */
  readonly scope: string | null
  /**
   * How the own width of the scope (`usage:read:own`) restricts a caller to its consumer: the handler restricts the result to
   * `owner` (`filtered`), or the `:id` of the path must be a resource of this kind that belongs to the consumer.
   */
  readonly own?: 'filtered' | OwnedKind
  /** Why the scope has only one width here; by default the reason of the tag. */
  readonly singleWidth?: string
  readonly query?: Schema
  /** By the name of the header. */
  readonly headers?: Readonly<Record<string, Schema>>
  readonly body?: Schema
  readonly bodyBytesMax?: number
  /** Status of a success; `answer` is its schema if it is JSON. */
  readonly status: number
  readonly answer?: Schema
  /**
   * Path of the result of a 202, in fastify's form. A parameter that the operation's path lacks is the `id` of the answer.
   */
  readonly location?: string
  readonly mediaTypes?: readonly string[]
  /** Schema of the `data` of the events of a stream. */
  readonly eventData?: Schema
  /** Codes beyond those that follow from the rest of the declaration. */
  readonly problems?: readonly ProblemCode[]
  /** A member of the answer that changes with each call: it is no part of the ETag, and the answer is never 304. */
  readonly untagged?: 'lastUsedAt'
  /** The operation that reads the changed resource; `If-Match` is compared with the ETag of its answer. */
  readonly changes?: string
  /**
   * For an operation without the changed resource in its path: the query with which `changes` reads it. Operations with the same query
   * wait for each other.
   */
  readonly changesWith?: (body: never) => Readonly<Record<string, unknown>>
  /** For an operation whose body names the changed resource: the list of which it is the only item, with its query. */
  readonly changesOnly?: {
    readonly list: string
    readonly query: (body: never) => Readonly<Record<string, unknown>>
  }
  /** The answer is a stream without an end: no HEAD, no ETag. */
  readonly endless?: true
}

/** By operationId. */
export type Operations = Readonly<Record<string, Operation>>

/** A call of an operation, typed by its declaration. */
export interface Call<Of extends Operation = Operation> {
  readonly params: ParamsOf<Of>
  readonly query: QueryOf<Of>
  /** Null if no body was sent. */
  readonly body: BodyOf<Of>
  /** The caller as the registry records it. */
  readonly author: Author
  readonly caller: Caller
  /** The consumer to whose resources the caller is restricted; null if its scope covers the tenant. */
  readonly owner: string | null
  readonly request: FastifyRequest
}

type ParamsOf<Of extends Operation> = string extends Of['path']
  ? Readonly<Record<string, string>>
  : PathParams<Of['path']>
type QueryOf<Of extends Operation> = Of extends { readonly query: infer Query }
  ? FromSchema<Query>
  : Readonly<Record<string, unknown>>
type BodyOf<Of extends Operation> = Of extends { readonly body: infer Body } ? FromSchema<Body> : unknown

export type Handler<Of extends Operation = Operation> = (call: Call<Of>, reply: FastifyReply) => Promise<unknown>

/** One handler for each operation of a table. */
export type Handlers<Table extends Operations> = { readonly [Id in keyof Table]: Handler<Table[Id]> }
