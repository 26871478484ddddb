/**
 * Attacks of unknown clients and bad customers on a gateway, all at the same time; run as a separate
 * process. Each kind has a bounded number of connections and a bounded pace. Prints its counts.
 */

import { connect, type Socket } from 'node:net'
import { createRandom } from '../../random.ts'

const [gatewayUrl, seconds, seed, key] = process.argv.slice(2)
const { hostname, port } = new URL(gatewayUrl ?? '')
const ENDS_AT = Date.now() + Number(seconds) * 1_000
const random = createRandom(Number(seed))
const SLOW_READERS = 400
const SLOW_UPLOADS = 500
const FUZZED_AT_ONCE = 20
const FLOOD_AT_ONCE = 8
const tally: Record<string, number> = {}

const isOver = (): boolean => Date.now() >= ENDS_AT
const count = (what: string): void => void (tally[what] = (tally[what] ?? 0) + 1)

/** Opens connections repeatedly, at most `limit` at a time, until the time is over. */
function keepUp(limit: number, what: string, use: (socket: Socket) => void, pauseMs = 0): Promise<void>[] {
  return Array.from({ length: limit }, async () => {
    while (!isOver()) {
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname)
        const timer = setTimeout(() => socket.destroy(), Math.max(1, Math.min(60_000, ENDS_AT - Date.now())))
        socket.on('error', () => {})
        socket.on('close', () => {
          clearTimeout(timer)
          resolve()
        })
        socket.on('connect', () => {
          count(what)
          use(socket)
        })
      })
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  })
}

const headers = `Host: a\r\nx-api-key: ${key}\r\n`

function readSlowly(socket: Socket): void {
  socket.pause()
  socket.write(`GET /things-v1/long HTTP/1.1\r\n${headers}\r\n`)
  const timer = setInterval(() => socket.read(1_000), 1_000)
  socket.on('close', () => clearInterval(timer))
}

function uploadSlowly(socket: Socket): void {
  const kind = random.below(3)
  const length = kind === 0 ? 'Transfer-Encoding: chunked' : `Content-Length: ${kind === 1 ? 1_000_000 : 5_000}`
  const path = random.below(2) === 0 ? 'upload' : 'public-upload'
  socket.write(
    `POST /things-v1/${path} HTTP/1.1\r\n${headers}Content-Type: application/octet-stream\r\n${length}\r\n\r\n`,
  )
  const timer = setInterval(() => socket.write(kind === 0 ? '1\r\nx\r\n' : 'x'), 1_000)
  socket.on('data', () => {})
  socket.on('close', () => clearInterval(timer))
}

const GRAMMAR: readonly string[] = [
  'GET /things-v1/ok HTTP/1.1\r\n',
  'POST /things-v1/upload HTTP/1.1\r\n',
  'GET /things-v1//x HTTP/1.1\r\n',
  'GET /broken-v1/any HTTP/1.1\r\n',
  'POST /things-v1/oauth2/v2/token HTTP/1.1\r\n',
  'OPTIONS * HTTP/1.1\r\n',
  'GET http://a/things-v1/ok HTTP/1.1\r\n',
  'CONNECT a:1 HTTP/1.1\r\n',
  'GET /things-v1/ok HTTP/2.0\r\n',
  'Host: a\r\n',
  'Host: b\r\n',
  'Host:\r\n',
  headers,
  'Content-Length: 5\r\n',
  'Content-Length: 05\r\n',
  'Content-Length: -1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  'Connection: Content-Length, Host\r\n',
  'Upgrade: websocket\r\n',
  'Content-Type: application/json\r\n',
  'Authorization: Bearer a.b.c\r\n',
  'X_Consumer_Id: con_1\r\n',
  'Via: 1.1 tollgate\r\n',
  `X-Long: ${'x'.repeat(9_000)}\r\n`,
  '\r\n',
  '\r\n',
  '\r\n',
  '\n',
  '\0',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  'hello',
  '{"a":',
  'ffffffffffffffff\r\n',
  '5;ext=1\r\nhello\r\n',
]

function sendFuzzed(socket: Socket): void {
  socket.on('data', () => {})
  let text = ''
  if (random.below(2) === 0) text = `GET /things-v1/ok HTTP/1.1\r\n${headers}\r\n`
  for (let parts = 1 + random.below(12); parts > 0; parts--) text += GRAMMAR[random.below(GRAMMAR.length)]
  const bytes = Buffer.from(text, 'latin1')
  if (random.below(4) === 0) bytes[random.below(bytes.length)] = random.below(256)
  const cut = random.below(bytes.length)
  socket.write(bytes.subarray(0, cut))
  setImmediate(() => {
    if (random.below(3) === 0) socket.resetAndDestroy()
    else socket.end(bytes.subarray(cut))
  })
  setTimeout(() => socket.destroy(), 200)
}

/** Sends the requests one after the other on one connection. */
function flood(requestOf: () => string): (socket: Socket) => void {
  return (socket) => {
    let left = 200
    const next = (): void => void (left-- > 0 && !isOver() ? socket.write(requestOf()) : socket.end())
    socket.on('data', (data) => data.includes('HTTP/1.1') && setTimeout(next, 20))
    next()
  }
}

const forged = (): string =>
  `GET /things-v1/ok HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${Buffer.from(JSON.stringify({ alg: 'ES256', kid: String(random.below(1_000)) })).toString('base64url')}.e30.c2ln\r\n\r\n`

await Promise.all([
  ...keepUp(SLOW_READERS, 'slow readers', readSlowly, 100),
  ...keepUp(SLOW_UPLOADS, 'slow uploads', uploadSlowly, 100),
  ...keepUp(FUZZED_AT_ONCE, 'fuzzed connections', sendFuzzed, 20),
  ...keepUp(
    FLOOD_AT_ONCE,
    'floods without a credential',
    flood(() => 'GET /things-v1/ok HTTP/1.1\r\nHost: a\r\n\r\n'),
    50,
  ),
  ...keepUp(FLOOD_AT_ONCE, 'floods of forged tokens', flood(forged), 50),
  ...keepUp(
    FLOOD_AT_ONCE,
    'calls to a bad backend',
    flood(() => `GET /broken-v1/any HTTP/1.1\r\n${headers}\r\n`),
    50,
  ),
])
process.stdout.write(`${JSON.stringify(tally)}\n`)
process.exit(0)
