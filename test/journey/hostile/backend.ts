/**
 * A backend whose responses, valid or not, depend on the path; run as a separate process. Prints its two
 * ports: one speaks HTTP, the other sends the bytes of `misbehave`.
 */

import { createServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createRandom } from '../../random.ts'

const LONG = Buffer.alloc(8_000_000, 'x')
const random = createRandom(Number(process.argv[2] ?? 1))

const well = createServer((request, response) => {
  if (request.url?.startsWith('/long') === true) return void response.end(LONG)
  request.resume()
  request.on('end', () => {
    const body = JSON.stringify({ answer: 'ok', padding: 'x'.repeat(70) })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'
const WHOLE = `${HEAD}Content-Length: 2\r\n\r\nok`
const ANSWERS: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.write(WHOLE),
  (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${WHOLE}`),
  (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${WHOLE}`),
  (socket) => socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n`),
  (socket) => socket.end(`${HEAD}Content-Length: 100\r\n\r\nonly this`),
  (socket) => socket.end('this is not HTTP\r\n\r\n'),
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 9\r\n\r\n`),
  (socket) => socket.write(`${HEAD}Transfer-Encoding: gzip\r\n\r\nok`),
  (socket) => socket.write(`${HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n2\r\nok\r\n0\r\n\r\n`),
  (socket) => socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n`),
  (socket) => socket.write(`${HEAD}X-Long: ${'x'.repeat(40_000)}\r\nContent-Length: 2\r\n\r\nok`),
  (socket) => socket.write(`${WHOLE}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`),
  (socket) => socket.write('HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc'),
  (socket) => socket.write(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`),
  (socket) => socket.write(`HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n`),
  (socket) => socket.end(`${HEAD}\r\nuntil the end`),
  (socket) => socket.write(`${HEAD}Content-Length: 10\r\n\r\nslow`),
  () => {},
  (socket) => socket.end(Buffer.from(Array.from({ length: 200 }, () => random.below(256)))),
  (socket) => socket.write(mutate(WHOLE)),
]

function mutate(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  for (let count = 1 + random.below(4); count > 0; count--) bytes[random.below(bytes.length)] = random.below(256)
  return bytes
}

const badly = createTcpServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', () => socket.destroyed || ANSWERS[random.below(ANSWERS.length)]!(socket))
})

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))

process.stdout.write(`${await listen(well)} ${await listen(badly)}\n`)
