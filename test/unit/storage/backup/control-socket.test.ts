/** The control socket with clients that break the protocol of `tollgate backup`. */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Holds } from '../../../../src/storage/backup/control-session.ts'
import { openControlSocket, type ControlSocket } from '../../../../src/storage/backup/control-socket.ts'
import { createFakeClock, type FakeClock } from '../../../fixtures/fake-clock.ts'

let dataDir: string
let clock: FakeClock
let control: ControlSocket | null
let clients: Client[]
/** The parts of the service that are paused at the moment. */
let held: { store: boolean; spool: boolean; frozen: boolean }
let failures: unknown[]

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tollgate-control-'))
  clock = createFakeClock(0)
  control = null
  clients = []
  held = { store: false, spool: false, frozen: false }
  failures = []
})

afterEach(async () => {
  for (const { socket } of clients) socket.destroy()
  await control?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const NOTHING = { store: false, spool: false, frozen: false }
const FREEZE = '{"ask":"freeze"}\n'
const RESUME = '{"ask":"resume"}\n'
const RELEASE = '{"ask":"release"}\n'
const path = (): string => join(dataDir, 'control.sock')

async function open(holds: Partial<Holds> = {}): Promise<void> {
  control = await openControlSocket({
    dataDir,
    clock,
    onFailure: (cause) => failures.push(cause),
    async holdStore() {
      held.store = true
      return () => (held.store = false)
    },
    keepSpool() {
      held.spool = true
      return () => (held.spool = false)
    },
    async freezeStore() {
      held.frozen = true
      return { folder: null, server: null, calls: 0 }
    },
    thawStore: async () => void (held.frozen = false),
    spoolShare: () => 0,
    hasMasterKey: false,
    ...holds,
  })
}

interface Client {
  readonly socket: Socket
  readonly closed: Promise<void>
  /** The kinds of the replies received so far. */
  readonly replies: string[]
  reply(kind: string): Promise<void>
}

async function connectAndSend(...lines: string[]): Promise<Client> {
  const socket = connect(path())
  const replies: string[] = []
  socket.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.trim().split('\n')) replies.push((JSON.parse(line) as { reply: string }).reply)
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((done) => socket.once('close', () => done()))
  const reply = async (kind: string): Promise<void> => {
    while (!replies.includes(kind)) await new Promise<void>((done) => socket.once('data', () => done()))
  }
  const client = { socket, closed, replies, reply }
  clients.push(client)
  await new Promise<void>((done) => socket.once('connect', done))
  for (const line of lines) socket.write(line)
  return client
}

/** Requests a freeze until the service has released the slot of an earlier client. */
async function freeze(): Promise<Client> {
  for (;;) {
    const client = await connectAndSend(FREEZE)
    while (client.replies.length === 0) await new Promise<void>((done) => client.socket.once('data', () => done()))
    if (client.replies[0] === 'frozen') return client
    await client.closed
  }
}

it('the control socket is accessible only to its owner from its creation on', async () => {
  const { listen } = Server.prototype
  const modes: number[] = []
  const spied = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args: unknown[]) {
    const server = Reflect.apply(listen, this, args) as Server
    modes.push(statSync(path()).mode & 0o077)
    return server
  })
  const before = process.umask(0)
  try {
    await open()
    expect(process.umask()).toBe(0)
  } finally {
    process.umask(before)
    spied.mockRestore()
  }
  expect([modes, statSync(path()).mode & 0o777]).toEqual([[0], 0o600])
})

it('the control socket replaces the socket of an earlier process, and does not follow a link', async () => {
  const other = join(dataDir, 'other')
  writeFileSync(other, 'kept')
  symlinkSync(other, path())
  await open()
  expect(lstatSync(path()).isSocket()).toBe(true)
  expect([readFileSync(other, 'utf8'), statSync(other).isFile()]).toEqual(['kept', true])
  await control?.close()
  expect(existsSync(path())).toBe(false)
  writeFileSync(path(), 'garbage')
  await open()
  await (await connectAndSend(FREEZE)).reply('frozen')
})

it('the control socket fails to open if its path is too long, and creates no other file', async () => {
  dataDir = join(dataDir, 'x'.repeat(120))
  mkdirSync(dataDir)
  await expect(open()).rejects.toThrow('EINVAL')
  expect(existsSync(path())).toBe(false)
  dataDir = join(dataDir, '..')
})

it('the control socket closes connections without requests, and is not blocked by them', async () => {
  await open()
  const idle = [await connectAndSend(), await connectAndSend('{"ask"'), await connectAndSend()]
  const backup = await connectAndSend(FREEZE)
  await backup.reply('frozen')
  clock.advanceSync(10_000)
  await Promise.all(idle.map(({ closed }) => closed))
  backup.socket.write(RESUME)
  await backup.reply('resumed')
})

it('the control socket accepts eight connections at a time', async () => {
  await open()
  const many = await Promise.all(Array.from({ length: 50 }, () => connectAndSend()))
  const left = () => many.filter(({ socket }) => !socket.destroyed)
  while (left().length > 8) await new Promise((done) => setImmediate(done))
  clock.advanceSync(10_000)
  await Promise.all(many.map(({ closed }) => closed))
  await (await connectAndSend(FREEZE)).reply('frozen')
})

it('the control socket refuses a second backup while the first continues', async () => {
  await open()
  const first = await connectAndSend(FREEZE)
  await first.reply('frozen')
  const second = await connectAndSend(FREEZE)
  await second.reply('refused')
  await second.closed
  expect(held).toEqual({ store: true, spool: true, frozen: true })
  first.socket.write(RESUME)
  await first.reply('resumed')
})

it.each([
  ['garbage before a request', ['garbage\n', FREEZE]],
  ['an unknown request', ['{"ask":"thaw"}\n', FREEZE]],
  ['JSON that is not an object', ['null\n', FREEZE]],
  ['requests in the wrong order', [RESUME, FREEZE]],
  ['requests without waiting for the replies', [FREEZE + RESUME + RELEASE]],
  ['a line without an end', ['x'.repeat(1_000_000)]],
])('the control socket ends a connection that sends %s, and releases everything', async (_name, lines) => {
  await open()
  await (
    await connectAndSend(...lines)
  ).closed
  await freeze()
  await control?.close()
  expect([held, clock.pending, failures]).toEqual([NOTHING, 0, []])
})

it.each([['frozen'], ['resumed'], ['released']])(
  'the control socket releases everything if a client disconnects in the state %s',
  async (state) => {
    await open()
    const client = await connectAndSend(FREEZE)
    for (const [kind, next] of [
      ['frozen', RESUME],
      ['resumed', RELEASE],
      ['released', null],
    ] as const) {
      await client.reply(kind)
      if (kind === state || next === null) break
      client.socket.write(next)
    }
    client.socket.destroy()
    await freeze()
    await control?.close()
    expect([held, clock.pending]).toEqual([NOTHING, 0])
  },
)

it('the control socket resumes inserts when a freeze exceeds its time limit, even while the freeze continues', async () => {
  const { promise: end, resolve: endFreeze } = Promise.withResolvers<void>()
  await open({
    async freezeStore() {
      await end
      return { folder: null, server: null, calls: 0 }
    },
  })
  const client = await connectAndSend(FREEZE)
  while (!held.spool) await new Promise((done) => setImmediate(done))
  clock.advanceSync(30_000)
  await client.reply('refused')
  expect(held).toEqual(NOTHING)
  endFreeze()
})

it('the control socket closes with open connections and a busy store, after all frozen parts are removed', async () => {
  let isThawed = false
  await open({
    async thawStore() {
      await new Promise((done) => setImmediate(done))
      isThawed = true
    },
  })
  isThawed = false
  await connectAndSend()
  await (await connectAndSend(FREEZE)).reply('frozen')
  await control?.close()
  expect([isThawed, held.store, held.spool, clock.pending]).toEqual([true, false, false, 0])

  const { promise: busy, resolve: onIdle } = Promise.withResolvers<() => void>()
  let isRequested = false
  await open({
    holdStore() {
      isRequested = true
      return busy
    },
  })
  await connectAndSend(FREEZE)
  while (!isRequested) await new Promise((done) => setImmediate(done))
  await control?.close()
  let isOpened = false
  onIdle(() => (isOpened = true))
  await new Promise((done) => setImmediate(done))
  expect([isOpened, clock.pending]).toEqual([true, 0])
})
