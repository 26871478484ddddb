/** The socket of a running service for backups, asked by clients that do not do as `tollgate backup` does. */

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
import type { Holds } from '../../../src/backup/control-session.ts'
import { openControlSocket, type ControlSocket } from '../../../src/backup/control-socket.ts'
import { createFakeClock, type FakeClock } from '../../fixtures/fake-clock.ts'

let dataDir: string
let clock: FakeClock
let control: ControlSocket | null
let clients: Client[]
/** What is held at the moment. */
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
  /** The kinds of the replies until now. */
  readonly replies: string[]
  reply(kind: string): Promise<void>
}

async function ask(...lines: string[]): Promise<Client> {
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

/** Asks until nothing of an earlier client is in the way. */
async function freeze(): Promise<Client> {
  for (;;) {
    const client = await ask(FREEZE)
    while (client.replies.length === 0) await new Promise<void>((done) => client.socket.once('data', () => done()))
    if (client.replies[0] === 'frozen') return client
    await client.closed
  }
}

it('is accessible only to its owner from its creation on', async () => {
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

it('replaces the socket of an earlier process, and does not follow a link', async () => {
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
  await (await ask(FREEZE)).reply('frozen')
})

it('fails to open if its path is too long, and creates no other file', async () => {
  dataDir = join(dataDir, 'x'.repeat(120))
  mkdirSync(dataDir)
  await expect(open()).rejects.toThrow('EINVAL')
  expect(existsSync(path())).toBe(false)
  dataDir = join(dataDir, '..')
})

it('closes connections without requests, and is not blocked by them', async () => {
  await open()
  const idle = [await ask(), await ask('{"ask"'), await ask()]
  const backup = await ask(FREEZE)
  await backup.reply('frozen')
  clock.advanceSync(10_000)
  await Promise.all(idle.map(({ closed }) => closed))
  backup.socket.write(RESUME)
  await backup.reply('resumed')
})

it('takes eight connections at a time', async () => {
  await open()
  const many = await Promise.all(Array.from({ length: 50 }, () => ask()))
  const left = () => many.filter(({ socket }) => !socket.destroyed)
  while (left().length > 8) await new Promise((done) => setImmediate(done))
  clock.advanceSync(10_000)
  await Promise.all(many.map(({ closed }) => closed))
  await (await ask(FREEZE)).reply('frozen')
})

it('refuses a second backup while the first continues', async () => {
  await open()
  const first = await ask(FREEZE)
  await first.reply('frozen')
  const second = await ask(FREEZE)
  await second.reply('refused')
  await second.closed
  expect(held).toEqual({ store: true, spool: true, frozen: true })
  first.socket.write(RESUME)
  await first.reply('resumed')
})

it.each([
  ['garbage before an ask', ['garbage\n', FREEZE]],
  ['an ask that is none', ['{"ask":"thaw"}\n', FREEZE]],
  ['no object', ['null\n', FREEZE]],
  ['an ask out of turn', [RESUME, FREEZE]],
  ['asks that do not wait for the replies', [FREEZE + RESUME + RELEASE]],
  ['a line without end', ['x'.repeat(1_000_000)]],
])('ends a connection that sends %s, and holds nothing', async (_name, lines) => {
  await open()
  await (
    await ask(...lines)
  ).closed
  await freeze()
  await control?.close()
  expect([held, clock.pending, failures]).toEqual([NOTHING, 0, []])
})

it.each([['frozen'], ['resumed'], ['released']])('holds nothing when a client goes away that is %s', async (state) => {
  await open()
  const client = await ask(FREEZE)
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
})

it('opens the store at once when a freeze takes too long, though the freeze goes on', async () => {
  const { promise: end, resolve: endFreeze } = Promise.withResolvers<void>()
  await open({
    async freezeStore() {
      await end
      return { folder: null, server: null, calls: 0 }
    },
  })
  const client = await ask(FREEZE)
  while (!held.spool) await new Promise((done) => setImmediate(done))
  clock.advanceSync(30_000)
  await client.reply('refused')
  expect(held).toEqual(NOTHING)
  endFreeze()
})

it('closes while connections are open and the store is busy, and waits until nothing is frozen', async () => {
  let isThawed = false
  await open({
    async thawStore() {
      await new Promise((done) => setImmediate(done))
      isThawed = true
    },
  })
  isThawed = false
  await ask()
  await (await ask(FREEZE)).reply('frozen')
  await control?.close()
  expect([isThawed, held.store, held.spool, clock.pending]).toEqual([true, false, false, 0])

  const { promise: busy, resolve: onIdle } = Promise.withResolvers<() => void>()
  let isAsked = false
  await open({
    holdStore() {
      isAsked = true
      return busy
    },
  })
  await ask(FREEZE)
  while (!isAsked) await new Promise((done) => setImmediate(done))
  await control?.close()
  let isOpened = false
  onIdle(() => (isOpened = true))
  await new Promise((done) => setImmediate(done))
  expect([isOpened, clock.pending]).toEqual([true, 0])
})
