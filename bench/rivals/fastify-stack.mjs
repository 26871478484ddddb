/** The process that `fastify.ts` measures. Its packages are those of `bench/package.json`. */

import { readFileSync } from 'node:fs'
import httpProxy from '@fastify/http-proxy'
import jwt from '@fastify/jwt'
import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'

const { PORT, BACKEND, PUBLIC_KEY } = process.env

const app = fastify({ logger: false, keepAliveTimeout: 3_600_000 })

await app.register(jwt, {
  secret: { public: readFileSync(PUBLIC_KEY, 'utf8') },
  verify: { algorithms: ['ES256'], cache: 1000 },
})
app.addHook('onRequest', async (request, reply) => {
  await request.jwtVerify()
  if (!request.user.scope.split(' ').includes('items:read')) return reply.code(403).send()
})
await app.register(rateLimit, {
  hook: 'preHandler',
  max: 1_000_000_000,
  timeWindow: 1000,
  keyGenerator: (request) => request.user.client_id,
})
await app.register(httpProxy, { upstream: BACKEND, undici: { connections: 256, pipelining: 1 } })

await app.listen({ host: '127.0.0.1', port: Number(PORT) })
process.once('SIGTERM', () => process.exit(0))
