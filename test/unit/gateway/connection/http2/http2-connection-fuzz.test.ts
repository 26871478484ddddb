/** Random frames of many clients: the server survives all of them, keeps none, and serves others. */

import { expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'
import { createRandom, type Random } from '../../../../random.ts'
import * as h2 from './frames.ts'
import { exchange, openSessions } from './open-sessions.ts'

const SEEDS = 300
const FIELDS = ['x-a', 'cookie', 'content-length', 'host', 'te', 'expect', 'connection', 'X-B', ':path', '', 'x\0']
const VALUES = ['', 'a', '3', '100-continue', 'b'.repeat(5_000), 'ü', 'a\r\nb', 'trailers']
const METHODS = ['GET', 'POST', 'POST', 'HEAD', 'OPTIONS', 'CONNECT', 'PRI']
const PATHS = ['/', '/', '/a?b', '*', '']

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random.below(list.length)]!
}

function randomBytes(random: Random, lengthMax: number): Buffer {
  return Buffer.from(Array.from({ length: random.below(lengthMax) }, () => random.below(256)))
}

function randomHead(random: Random, stream: number, hasBody: boolean): Buffer {
  const fields = Array.from({ length: random.below(4) }, () => [pick(random, FIELDS), pick(random, VALUES)] as const)
  const isPlain = random.next() < 0.6
  const head = [...h2.pseudo(pick(random, METHODS), pick(random, PATHS)), ...(isPlain ? [] : fields)]
  if (random.next() < 0.05) head.splice(random.below(head.length), 1)
  return h2.headers(stream, head, hasBody ? h2.END_HEADERS : h2.WHOLE)
}

/** The frames of one client: mostly possible ones, in a sequence that is not. */
class RandomFrames {
  readonly #random: Random
  readonly #isWild: boolean
  #last = -1
  /** Streams whose bodies may follow. */
  #open: number[] = []

  constructor(random: Random) {
    this.#random = random
    this.#isWild = random.next() < 0.3
  }

  next(): Buffer {
    const random = this.#random
    const kind = random.next() * (this.#isWild ? 1 : 0.85)
    if (kind < 0.4 || (this.#open.length === 0 && !this.#isWild)) return this.#head()
    const stream = this.#open.length > 0 ? pick(random, this.#open) : Math.max(1, this.#last)
    if (kind < 0.55) return h2.data(stream, 'x'.repeat(random.below(9_000)))
    if (kind < 0.6) return this.#ended(stream, h2.data(stream, 'x', h2.END_STREAM))
    if (kind < 0.7) return this.#ended(stream, h2.reset(stream, random.below(16)))
    if (kind < 0.8) return h2.windowUpdate(pick(random, [0, stream]), 1 + random.below(100_000))
    if (kind < 0.83) return h2.settings([[h2.SETTING.window, random.below(70_000)]])
    if (kind < 0.85) return pick(random, [h2.ping(), h2.frame(h2.PRIORITY, 0, stream, Buffer.alloc(5, 9))])
    if (kind < 0.98) return this.#impossible(stream)
    return randomBytes(random, 40)
  }

  #head(): Buffer {
    this.#last += 2
    const hasBody = this.#random.next() < 0.6
    if (hasBody) this.#open.push(this.#last)
    return randomHead(this.#random, this.#last, hasBody)
  }

  #ended(stream: number, frame: Buffer): Buffer {
    this.#open = this.#open.filter((each) => each !== stream)
    return frame
  }

  #impossible(stream: number): Buffer {
    const random = this.#random
    const any = random.next() < 0.8 ? stream : random.below(2 ** 31)
    return h2.frame(random.below(12), random.below(256), pick(random, [0, stream, any]), randomBytes(random, 50))
  }
}

/** Responds in many ways, also to what has gone by then. */
function respond(random: Random, request: ClientRequest, response: ClientResponse): void {
  const kind = random.next()
  if (kind < 0.3) request.resume()
  else if (kind < 0.5) request.on('data', () => (random.next() < 0.5 ? request.pause() : request.resume()))
  const fields = toResponseFields(kind < 0.1 ? ['Content-Length', '3'] : [])
  const answer = (): void => {
    if (response.destroyed) return
    if (random.next() < 0.2) return response.breakOff()
    response.askForBody()
    response.start(pick(random, [200, 204, 404]), fields)
    if (random.next() < 0.5) response.flushHeaders()
    if (random.next() < 0.5) response.write(Buffer.alloc(random.below(100_000)))
    if (random.next() < 0.8) response.end('end')
  }
  if (random.next() < 0.5) answer()
  else setImmediate(answer)
}

it(`survives the random frames of ${SEEDS} clients`, async () => {
  const state = { random: createRandom(0) }
  let open = 0
  let requests = 0
  const { raw, client, sessions, faults } = await openSessions((request, response) => {
    if (request.url === '/alive') {
      response.start(200, toResponseFields([]))
      return void response.end('ok')
    }
    open++
    requests++
    response.on('close', () => open--)
    respond(state.random, request, response)
  })

  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = (state.random = createRandom(seed))
    const peer = raw(random.next() < 0.95 ? h2.OPENING : randomBytes(random, 60))
    peer.send(h2.ACKNOWLEDGED)
    const frames = new RandomFrames(random)
    const other = client()
    for (let group = 1 + random.below(5); group > 0; group--) {
      for (let count = random.below(12); count > 0; count--) peer.send(frames.next())
      // Other clients may not get less than before, and the server has handled the frames then.
      const answer = await exchange(other, { ':path': '/alive' })
      expect({ seed, ...answer }).toMatchObject({ seed, status: 200, body: 'ok' })
    }
    other.close()
    peer.socket.destroy()
  }
  await expect.poll(() => [sessions.size, open]).toEqual([0, 0])
  expect(faults).toEqual([])
  // Otherwise the frames would be too random to reach what they test.
  expect(requests).toBeGreaterThan(SEEDS)
}, 60_000)
