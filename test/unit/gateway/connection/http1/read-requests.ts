/** Serves a stream of requests with our connection, and with `node:http`, over a connection in memory. */

import type { Socket } from 'node:net'
import { duplexPair, type Duplex } from 'node:stream'
import type {
  ClientRequest,
  ClientResponse,
  ClientServer,
  ClientServerOptions,
} from '../../../../../src/gateway/connection/client.ts'
import { findHttpParser } from '../../../../../src/gateway/connection/http1/http-parser.ts'
import { Http1Server } from '../../../../../src/gateway/connection/http1/http1-server.ts'
import { createNodeServer } from '../../../../../src/gateway/connection/node/node-server.ts'
import { parseAnswers, type Answers } from './answers.ts'
import { writePieces } from './read-response.ts'
import type { GeneratedRequests, Plan } from './requests.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'

export interface Served {
  readonly method: string
  readonly url: string
  readonly version: string
  readonly rawHeaders: readonly string[]
  readonly headers: Readonly<Record<string, unknown>>
  body: string
  isComplete: boolean
}

export interface Reading extends Answers {
  readonly served: readonly Served[]
  readonly isClosed: boolean
  /** Reasons of `count`. */
  readonly counts: readonly string[]
  readonly faults: readonly unknown[]
}

const parser = findHttpParser()!
const PLAIN: Plan = { isChunked: false, isLate: false, isEarly: false }
/** Turns of the event loop until late responses have been sent. */
const TURNS = 8

/** As `node:http` finds out. */
export const expectsContinue = (headers: Readonly<Record<string, unknown>>): boolean =>
  /(?:^|\W)100-continue(?:$|\W)/i.test(String(headers['expect'] ?? ''))

export const serveWithOurs = (sent: GeneratedRequests): Promise<Reading> =>
  serve(sent, (options) => new Http1Server({ ...options, parser }))

export const serveWithNode = (sent: GeneratedRequests): Promise<Reading> => serve(sent, createNodeServer)

async function serve(
  sent: GeneratedRequests,
  create: (options: ClientServerOptions) => ClientServer,
): Promise<Reading> {
  const served: Served[] = []
  const counts: string[] = []
  const faults: unknown[] = []
  const server = create({
    connectionsMax: 10,
    tls: null,
    trustedProxies: [],
    count: (reason) => void counts.push(reason),
    onFault: (cause) => void faults.push(cause),
    onRequest: (request, response) => respond(request, response, served, sent.plans[served.length] ?? PLAIN),
  })
  const [client, carrier] = duplexPair()
  let text = ''
  let isClosed = false
  client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  client.on('end', () => (isClosed = true))
  client.on('error', () => {})
  carrier.on('close', () => (isClosed = true))
  server.emit('connection', asSocket(carrier))
  await writePieces(client, sent)
  for (let turns = 0; turns < TURNS; turns++) await new Promise<void>((resolve) => setImmediate(resolve))
  const reading = { served: structuredClone(served), isClosed, counts: [...counts], faults: [...faults] }
  carrier.destroy()
  client.destroy()
  return { ...reading, ...parseAnswers(text, served) }
}

/** Adds the methods of a socket that servers call. */
function asSocket(carrier: Duplex): Socket {
  return Object.assign(carrier, {
    setTimeout: () => carrier,
    destroySoon() {
      if (carrier.writable) carrier.end()
      if (carrier.writableFinished) carrier.destroy()
      else carrier.once('finish', () => carrier.destroy())
    },
  }) as unknown as Socket
}

/** Reads the whole body, then responds with the number of the request and the length of its body. Refuses HTTP/0.9, as the gateway does. */
function respond(request: ClientRequest, response: ClientResponse, served: Served[], plan: Plan): void {
  const { method = '', url = '', httpVersionMajor, httpVersionMinor, rawHeaders, headers } = request
  const seen: Served = {
    method,
    url,
    version: `${httpVersionMajor}.${httpVersionMinor}`,
    // Not copied: a trailer must not be added later.
    rawHeaders,
    headers: { ...headers },
    body: '',
    isComplete: false,
  }
  const number = served.push(seen)
  if (httpVersionMajor !== 1) return response.refuse(505)
  if (plan.isEarly) {
    // As the gateway does: the client may send the body, or another request.
    if (expectsContinue(headers)) response.shouldKeepAlive = false
    return sendAt(plan, response, `${number}: early`)
  }
  if (expectsContinue(headers)) response.askForBody()
  request.on('data', (chunk) => (seen.body += chunk.toString('latin1')))
  request.on('end', () => {
    seen.isComplete = request.complete
    sendAt(plan, response, `${number}: ${seen.body.length} bytes`)
  })
}

function sendAt(plan: Plan, response: ClientResponse, text: string): void {
  if (plan.isLate) setImmediate(() => send(plan, response, Buffer.from(text)))
  else send(plan, response, Buffer.from(text))
}

function send({ isChunked }: Plan, response: ClientResponse, answer: Buffer): void {
  if (response.destroyed) return
  response.start(200, toResponseFields(isChunked ? ['X-A', 'b'] : ['Content-Length', String(answer.length)]))
  if (isChunked) {
    response.write(answer)
    response.end()
  } else response.end(answer)
}
