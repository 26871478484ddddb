/**
 * How an operation of the platform API is declared: what it is for, whom it lets in, what goes in and out.
 *
 * A declaration is data. The route, its validation, its scope check and its place in `/openapi.json`
 * are all made from it, so that nothing can be in one and not in the others; and what the platform
 * offers is known before any of it is built.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../plan/caller.ts'
import type { ProblemCode } from '../domain/problem.ts'
import type { Author } from '../store/registry.ts'
import type { FromSchema, PathParams, Schema } from './schema-type.ts'

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** fastify's form, `/v1/proxies/:id`. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tag: string
  /** `null`: public. */
  readonly scope: string | null
  readonly query?: Schema
  /** By the name of the header. */
  readonly headers?: Readonly<Record<string, Schema>>
  readonly body?: Schema
  readonly bodyBytesMax?: number
  /** The answer of a success: its status and shape; no shape where it is not JSON. */
  readonly status: number
  readonly answer?: Schema
  /**
   * Where the result of a 202 is to be read, in fastify's form. A parameter that the path of the operation does not
   * have is the id of the answer.
   */
  readonly location?: string
  readonly mediaTypes?: readonly string[]
  /** Of the `data` of its events, where it is a stream. */
  readonly eventData?: Schema
  /** Codes beyond those that follow from the rest of the declaration. */
  readonly problems?: readonly ProblemCode[]
  /** The operation that reads what this one changes: `If-Match` is held against its answer. */
  readonly changes?: string
  /** The answer does not end by itself: no HEAD, no ETag. */
  readonly endless?: true
}

/** By operationId. */
export type Operations = Readonly<Record<string, Operation>>

/** A call of an operation, with the types that its declaration gives to what the caller sends. */
export interface Call<Of extends Operation = Operation> {
  readonly params: ParamsOf<Of>
  readonly query: QueryOf<Of>
  /** Null if no body was sent. */
  readonly body: BodyOf<Of>
  /** The caller as the registry records it. */
  readonly author: Author
  readonly caller: Caller
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
