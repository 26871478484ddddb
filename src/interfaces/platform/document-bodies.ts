/**
 * Reads bodies with large documents: each document is decoded while it arrives, so that no step blocks the main thread.
 *
 * The number of such bodies is bounded, in total and per tenant, from their first byte to the answer, because each of them holds
 * its documents in memory.
 */

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../foundation/domain/problem.ts'
import { fieldsOf } from '../../foundation/json/fields.ts'
import { DocumentScanner, type ScannedDocument } from './document-scanner.ts'
import type { Operation } from './operation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The documents of the body by member; null if the body is small. */
    documents: ReadonlyMap<string, ScannedDocument> | null
  }
}

/** Smaller bodies are read and parsed at once. */
const LARGE_BYTES_MIN = 1024 * 1024
const TURN_BYTES_MAX = 256 * 1024
const BODIES_MAX = 8
const BODIES_PER_TENANT_MAX = 4
const RETRY_AFTER_SECONDS = '5'

export function installDocumentBodies(app: FastifyInstance): void {
  const slots = createSlots()
  app.decorateRequest('documents', null)
  app.addHook('preParsing', async (request, reply, payload) => {
    const members = documentMembers(request.routeOptions.config.operation)
    const length = Number(request.headers['content-length'] ?? NaN)
    const isJson = /^application\/json\b/i.test(request.headers['content-type'] ?? '')
    // A larger one than the operation accepts is refused before it is read.
    if (members.size === 0 || !isJson || length < LARGE_BYTES_MIN || length > request.routeOptions.bodyLimit)
      return payload
    const reserve = (): void => reserveSlot(slots, request, reply)
    if (length >= LARGE_BYTES_MIN) reserve()
    return scanned({ request, payload, members, length, reserve })
  })
}

/** Returns the body of a request, once it has been validated, with its documents. */
export function bodyOf({ body, documents }: FastifyRequest): unknown {
  if (documents === null) return body ?? null
  const members = Object.entries(fieldsOf(body)).map(([name, value]) => {
    const document = documents.get(name)
    return [name, document !== undefined && value === document.placeholder ? document.bytes : value] as const
  })
  return Object.fromEntries(members)
}

/** Returns the maximum number of characters of each member that contains a document. */
export function documentMembers(operation: Operation | undefined): ReadonlyMap<string, number> {
  const properties = Object.entries(fieldsOf(operation?.body?.['properties']))
  const encoded = properties.filter(([, schema]) => fieldsOf(schema)['contentEncoding'] === 'base64')
  return new Map(encoded.map(([name, schema]) => [name, Number(fieldsOf(schema)['maxLength'])]))
}

interface ScannedOptions {
  readonly request: FastifyRequest
  readonly payload: Readable
  readonly members: ReadonlyMap<string, number>
  /** NaN if the body is sent in chunks. */
  readonly length: number
  /** Called once the body is known to be large. */
  readonly reserve: () => void
}

/** Returns the body without its documents. */
function scanned({ request, payload, members, length, reserve }: ScannedOptions): Readable {
  const { bodyLimit } = request.routeOptions
  const isChunked = Number.isNaN(length)
  const scanner = new DocumentScanner({
    members,
    bytesExpected: isChunked ? LARGE_BYTES_MIN : Math.ceil((length * 3) / 4),
  })
  let isLarge = !isChunked
  // fastify compares `receivedEncodedLength` with `Content-Length`.
  const rest = Object.assign(new Readable({ read() {} }), { receivedEncodedLength: 0 })
  const fail = (cause: Error): void => {
    payload.off('data', onData)
    payload.resume()
    rest.destroy(cause)
  }
  let inTurn = 0
  /** One turn of the event loop can read two megabytes; other requests are served in between. */
  function pause(bytes: number): void {
    inTurn += bytes
    if (inTurn < TURN_BYTES_MAX) return
    inTurn = 0
    payload.pause()
    setImmediate(() => payload.resume())
  }
  function onData(chunk: Buffer): void {
    rest.receivedEncodedLength += chunk.length
    try {
      if (rest.receivedEncodedLength > bodyLimit)
        throw new Problem('payload_too_large', 'The body is larger than this operation accepts.')
      if (!isLarge && rest.receivedEncodedLength > LARGE_BYTES_MIN) reserve()
      isLarge ||= rest.receivedEncodedLength > LARGE_BYTES_MIN
      scanner.write(chunk)
      pause(chunk.length)
    } catch (cause) {
      fail(cause as Error)
    }
  }
  payload.on('data', onData)
  payload.once('error', fail)
  payload.once('end', () => {
    if (rest.destroyed) return
    const { rest: bytes, documents } = scanner.end()
    request.documents = documents
    rest.push(bytes)
    rest.push(null)
  })
  payload.once('close', () => {
    if (!payload.readableEnded)
      fail(new Problem('payload_invalid', 'The connection was closed before the end of the body.'))
  })
  return rest
}

interface Slots {
  /** Returns a function that releases the slot; null if there is none. */
  take(tenant: string): (() => void) | null
}

function createSlots(): Slots {
  const taken = new Map<string, number>()
  let total = 0
  return {
    take(tenant) {
      const own = taken.get(tenant) ?? 0
      if (total >= BODIES_MAX || own >= BODIES_PER_TENANT_MAX) return null
      total++
      taken.set(tenant, own + 1)
      return () => {
        total--
        const left = (taken.get(tenant) ?? 0) - 1
        if (left > 0) taken.set(tenant, left)
        else taken.delete(tenant)
      }
    },
  }
}

function reserveSlot(slots: Slots, request: FastifyRequest, reply: FastifyReply): void {
  const release = slots.take(request.caller?.grant.tenant ?? '')
  if (release === null) {
    void reply.header('Retry-After', RETRY_AFTER_SECONDS)
    throw new Problem(
      'unavailable',
      'Too many large documents are being processed. Retry after the time in `Retry-After`.',
    )
  }
  reply.raw.once('close', release)
}
