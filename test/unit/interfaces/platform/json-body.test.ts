import fastify from 'fastify'
import { expect, it } from 'vitest'
import { installJsonBody } from '../../../../src/interfaces/platform/json-body.ts'

const FILL = 'x'.repeat(2_000_000)

async function post(payload: string | Buffer, contentType = 'application/json') {
  const app = fastify({ bodyLimit: 10_000_000 })
  installJsonBody(app)
  app.post('/', async ({ body }) => ({ body: body ?? null }))
  const answer = await app.inject({ method: 'POST', url: '/', payload, headers: { 'content-type': contentType } })
  await app.close()
  return answer
}

it.each([
  ['a small one', { a: 1, ö: ['é😀'] }],
  ['a large one', { a: 1, ö: ['é😀'], fill: FILL }],
  ['a large one with escapes', { a: '\u0001', fill: FILL }],
  ['a large one with a member constructor', { constructor: 1, fill: FILL }],
])('parses a body: %s', async (_, body) => {
  const answer = await post(JSON.stringify(body))
  expect(answer.statusCode).toBe(200)
  expect(answer.json()).toEqual({ body })
})

it.each(['__proto__', '\\u005f_proto__'])('refuses a member %s, in a small body and in a large one', async (name) => {
  for (const fill of ['', FILL]) {
    const answer = await post(`{"fill": "${fill}", "inner": [{"${name}": {"a": 1}}]}`)
    expect(answer.statusCode).toBe(400)
  }
})

it('refuses a prototype in a constructor, in a small body and in a large one', async () => {
  for (const fill of ['', FILL]) {
    expect((await post(`{"fill": "${fill}", "constructor": {"prototype": {"a": 1}}}`)).statusCode).toBe(400)
  }
})

it('refuses a body that does not parse, and counts an empty one as none', async () => {
  for (const fill of ['', FILL]) expect((await post(`{"fill": "${fill}"`)).statusCode).toBe(400)
  expect((await post('')).json()).toEqual({ body: null })
  expect((await post('a=1', 'application/x-www-form-urlencoded')).statusCode).toBe(415)
})
