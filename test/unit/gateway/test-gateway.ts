/**
 * The data plane of one gateway thread on a real port, before real backends: server, stages, connections.
 * Calls are recorded in memory; a key of the form `key-<subscription>` is that subscription's.
 */

import { createServer, type RequestListener } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Caller } from '../../../src/plan/caller.ts'
import { createAdmissions } from '../../../src/gateway/admission.ts'
import type { Authenticator } from '../../../src/gateway/authentication/authenticate.ts'
import { createBodyBuffers } from '../../../src/gateway/forwarding/body.ts'
import type { DriftWatch } from '../../../src/gateway/forwarding/drift-watch.ts'
import { createHandleCall, type HandleCallOptions } from '../../../src/gateway/handle-call.ts'
import { createRequestRules, createResponseRules } from '../../../src/gateway/headers/header-rules.ts'
import { createLimiter } from '../../../src/gateway/limits/limiter.ts'
import { createLoopDetection } from '../../../src/gateway/headers/loop-detection.ts'
import { ReaderWatch, type ReaderBounds } from '../../../src/gateway/connection/reader-watch.ts'
import { invalid } from '../../../src/gateway/authentication/credential-refusal.ts'
import { compileRevision, type CompiledRevision } from '../../../src/gateway/call/revision.ts'
import { createSeats } from '../../../src/gateway/call/caller-contexts.ts'
import { createSendCall, type SendCallOptions } from '../../../src/gateway/forwarding/send-call.ts'
import { createGatewayServer, type GatewayServerOptions } from '../../../src/gateway/server.ts'
import { createTurnEnd } from '../../../src/runtime/turn-end.ts'
import { UploadWatch, type UploadBounds } from '../../../src/gateway/connection/upload-watch.ts'
import { readSpecification } from '../../../src/governance/specification.ts'
import { compileRoutePlan } from '../../../src/publishing/compile-route-plan.ts'
import type { BackendPlan } from '../../../src/plan/route-plan.ts'
import { OUTCOMES, type Outcome } from '../../../src/record/call-record.ts'
import type { RecordedCall } from '../../../src/record/spool-writer.ts'

export const API = 'things-v1'
export const LOOP_NAME = 'tollgate-test'

export interface Recorded {
  readonly outcome: Outcome
  readonly status: number
  readonly subscription: string
  readonly flags: number
}

export interface TestGatewayOptions {
  readonly backend: Omit<BackendPlan, 'origin' | 'basePath' | 'timeoutMs' | 'mayBePrivate'> & {
    origin: string
    timeoutMs?: number
  }
  readonly paths?: object
  /** Members of the document's root. */
  readonly root?: object
  readonly uploads?: UploadBounds
  readonly readers?: ReaderBounds
  readonly bodyBytesHeldMax?: number
  /** Replaces parts of the gateway, to inject faults. */
  readonly send?: Partial<SendCallOptions>
  readonly handle?: Partial<HandleCallOptions>
  readonly authenticator?: Partial<Authenticator>
  readonly server?: Partial<GatewayServerOptions>
  readonly changeRevision?: (revision: CompiledRevision) => CompiledRevision
  readonly append?: (call: RecordedCall, record: (call: RecordedCall) => void) => void
}

export interface TestGateway {
  readonly port: number
  readonly records: readonly Recorded[]
  readonly counts: ReadonlyMap<string, number>
  readonly faults: readonly unknown[]
  readonly inFlight: () => number
  readonly revision: CompiledRevision
  /** Resolves when `count` calls are recorded. */
  recorded(count: number): Promise<readonly Recorded[]>
  /** Sends bytes; resolves with everything that comes back until the other side closes. */
  raw(text: string): Promise<string>
  /** A connection that stays open. */
  open(): Promise<Socket>
}

const answers = { 200: { description: 'ok' } }
export const octets = { content: { 'application/octet-stream': {} } }

/** One public path, and one that takes a key. */
export const PATHS = {
  '/open': {
    get: { operationId: 'open', security: [], responses: answers },
    post: { operationId: 'upload', security: [], requestBody: octets, responses: answers },
  },
  '/keyed': {
    get: { operationId: 'keyed', responses: answers },
    post: { operationId: 'keyedUpload', requestBody: octets, responses: answers },
  },
}

const NO_DRIFT: DriftWatch = { head: () => null, operation: () => {} }

export async function openTestGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const { uploads: uploadBounds, readers: readerBounds, paths = PATHS, root = {} } = options
  const records: Recorded[] = []
  const counts = new Map<string, number>()
  const faults: unknown[] = []
  const inFlight = new Int32Array(1)
  const waiters: { readonly count: number; readonly resolve: (records: readonly Recorded[]) => void }[] = []
  const count = (reason: string): void => void counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const onFault = (cause: unknown): void => void faults.push(cause)

  const specification = await readSpecification(
    Buffer.from(
      JSON.stringify({
        openapi: '3.1.0',
        info: { title: 'Things', version: '1.0.0' },
        servers: [{ url: options.backend.origin }],
        components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-api-key' } } },
        security: [{ key: [] }],
        paths,
        ...root,
      }),
    ),
  )
  const plan = compileRoutePlan({
    specification,
    tenant: 'acme',
    revision: 1,
    state: 'Active',
    backend: { basePath: '', timeoutMs: 30_000, mayBePrivate: true, ...options.backend },
    allowedScopes: specification.declaredScopes,
    memberOfProductIds: [],
  })
  const limiter = createLimiter({ thread: 0, threads: 1 })
  const compiled = await compileRevision(structuredClone(plan), [], limiter, {
    threads: 1,
    connect: (_, base) => base,
  })
  const revision = options.changeRevision?.(compiled) ?? compiled

  const record = (call: RecordedCall): void => {
    setImmediate(() => {
      const { outcome, status, flags, attribution } = call
      records.push({ outcome: OUTCOMES[outcome]!, status, flags, subscription: attribution.subscription })
      call.onSafe()
      for (const { count, resolve } of waiters) if (records.length >= count) resolve(records)
    })
  }
  const callers = new Map<string, Caller>()
  const authenticator: Authenticator = {
    authenticate(_authorization: string | undefined, apiKey: string | undefined) {
      const subscription = /^key-(.+)$/.exec(apiKey ?? '')?.[1]
      if (subscription === undefined) return invalid('unknown')
      let caller = callers.get(subscription)
      if (caller === undefined)
        callers.set(subscription, (caller = callerOf(subscription, specification.declaredScopes)))
      return caller
    },
    ...options.authenticator,
  } as Authenticator
  const readers = new ReaderWatch(onFault, readerBounds)
  const uploads = new UploadWatch(uploadBounds)
  const loops = createLoopDetection(LOOP_NAME)
  const common = { drift: NO_DRIFT, loops, nowMs: Date.now, isAccepting: () => true }
  const server = createGatewayServer({
    connectionsMax: 20_000,
    context: {
      spool: {
        append: (call) => (options.append === undefined ? record(call) : options.append(call, record)),
        accepting: true,
        requestPrefix: '0123456789abcdef',
        close() {},
      },
      nowMs: Date.now,
      count,
      readers,
      inFlight,
      onFault,
    },
    requestRules: createRequestRules(),
    uploads,
    handleCall: createHandleCall({
      ...common,
      authenticator,
      seats: createSeats({ host: { ask: () => Promise.reject(new Error('no counters')) }, limiter }),
      admissions: createAdmissions({ limiter }),
      send: createSendCall({
        ...common,
        responseRules: createResponseRules(),
        turnEnd: createTurnEnd(),
        uploads,
        readers,
        bodies: createBodyBuffers(uploads, options.bodyBytesHeldMax),
        count,
        ...options.send,
      }),
      ...options.handle,
    }),
    authenticator,
    revisionOf: (api) => (api === API ? revision : undefined),
    oauth: () => false,
    ...options.server,
  })
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    revision.backend?.close()
  })

  const open = (): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket))
      socket.on('error', () => {})
      onTestFinished(() => void socket.destroy())
    })

  return {
    port,
    records,
    counts,
    faults,
    inFlight: () => inFlight[0]!,
    revision,
    recorded: (count) =>
      new Promise((resolve) => {
        if (records.length >= count) resolve(records)
        else waiters.push({ count, resolve })
      }),
    async raw(text) {
      const socket = await open()
      socket.write(text, 'latin1')
      return received(socket)
    },
    open,
  }
}

/** Everything that comes until the other side closes. */
export function received(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString('latin1')))
    socket.on('close', () => resolve(text))
  })
}

/** Resolves with what has come when `until` matches it. */
export function receivedUntil(socket: Socket, until: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (until.test(text)) resolve(text)
    })
    socket.on('close', () => (until.test(text) ? resolve(text) : reject(new Error(`closed after: ${text}`))))
  })
}

/** An HTTP backend; answers the origin. */
export async function openBackend(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${port}`
}

/** A backend that speaks for itself on each connection. */
export async function openRawBackend(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  const port = await listen(server)
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${port}`
}

function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
}

/** The caller of a key. */
export function callerOf(subscription: string, scopes: readonly string[] = []): Caller {
  const grant: Caller['grant'] = {
    credential: `crd_${subscription}`,
    type: 'ApiKey',
    valid: true,
    active: true,
    expiresAtMs: 0,
    tenant: 'acme',
    subscription,
    consumer: `con_${subscription}`,
    consumerName: subscription,
    consumerKind: 'application',
    api: API,
    apiProductId: '',
    scopes,
    variant: '',
    version: 1,
  }
  return { grant, method: 'key', api: API, scopes: new Set(scopes), agent: '', person: '', expiresAtMs: Infinity }
}
