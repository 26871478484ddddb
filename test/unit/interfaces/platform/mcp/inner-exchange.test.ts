import { Readable } from 'node:stream'
import fastify, { type FastifyInstance } from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { whenCallerGone } from '../../../../../src/interfaces/platform/caller-gone.ts'
import { exchange } from '../../../../../src/interfaces/platform/mcp/inner-exchange.ts'

async function open(install: (app: FastifyInstance) => void): Promise<FastifyInstance> {
  const app = fastify()
  onTestFinished(() => app.close())
  install(app)
  await app.ready()
  return app
}

const GET = { method: 'GET', target: '/a?b=1', headers: { 'x-one': '1' }, body: null }

it('gives the operation the request, and returns its response', async () => {
  const app = await open((each) =>
    each.get('/a', async ({ headers, query, ip }, reply) => {
      void reply.code(206).header('X-Two', '2')
      return { headers, query, ip }
    }),
  )
  const { status, headers, body } = await exchange(app, GET)
  expect([status, headers['x-two'], headers['content-type']]).toEqual([206, '2', 'application/json; charset=utf-8'])
  expect(JSON.parse(String(body))).toEqual({ headers: { 'x-one': '1', host: 'localhost' }, query: { b: '1' } })
})

it('sends a body once, with its length', async () => {
  const app = await open((each) => each.post('/a', async ({ body, headers }) => [body, headers['content-length']]))
  const sent = Buffer.from('{"größe":1}')
  const headers = { 'content-type': 'application/json' }
  const { body } = await exchange(app, { method: 'POST', target: '/a', headers, body: sent })
  expect(JSON.parse(String(body))).toEqual([{ größe: 1 }, String(sent.length)])
})

it.each([
  ['a buffer', () => Buffer.from([0, 255])],
  ['a stream', () => Readable.from([Buffer.from([0]), Buffer.from([255])])],
])('returns the bytes of %s', async (_, payload) => {
  const app = await open((each) => each.get('/a', (__, reply) => reply.send(payload())))
  expect(Buffer.from((await exchange(app, GET)).body as string)).toEqual(Buffer.from([0, 255]))
})

it('returns the response of a failure, and of a path that does not exist', async () => {
  const app = await open((each) => each.get('/a', () => Promise.reject(new Error('injected'))))
  expect((await exchange(app, GET)).status).toBe(500)
  expect((await exchange(app, { ...GET, target: '/none' })).status).toBe(404)
})

it('rejects if the operation ends the connection instead of responding', async () => {
  const app = await open((each) =>
    each.get('/a', (_, reply) => {
      reply.hijack()
      reply.raw.destroy()
    }),
  )
  await expect(exchange(app, GET)).rejects.toThrow('without a response')
})

it('tells the operation when nobody waits any more', async () => {
  const left = new AbortController()
  const app = await open((each) =>
    each.get('/a', async (_, reply) => {
      const gone = whenCallerGone(reply)
      left.abort()
      return { isGone: gone.aborted }
    }),
  )
  expect(String((await exchange(app, GET, left.signal)).body)).toBe('{"isGone":true}')
})

it('runs hooks in the order of a request from outside', async () => {
  const seen: string[] = []
  const app = await open((each) => {
    each.addHook('onRequest', async () => void seen.push('request'))
    each.addHook('onSend', async () => void seen.push('send'))
    each.addHook('onResponse', async () => void seen.push('response'))
    each.get('/a', async () => {
      seen.push('handler')
      return 'done'
    })
  })
  await exchange(app, GET)
  await expect.poll(() => seen).toEqual(['request', 'handler', 'send', 'response'])
})
