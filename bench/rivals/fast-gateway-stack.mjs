/** The process that `fast-gateway.ts` measures. Its packages are those of `bench/package.json`. */

import { readFileSync } from 'node:fs'
import { rateLimit } from 'express-rate-limit'
import gateway from 'fast-gateway'
import { createVerifier } from 'fast-jwt'

const { PORT, BACKEND, PUBLIC_KEY, PREFIX } = process.env

const verify = createVerifier({ key: readFileSync(PUBLIC_KEY, 'utf8'), algorithms: ['ES256'], cache: 1000 })

function authenticate(request, response, next) {
  const [scheme, token] = (request.headers.authorization ?? '').split(' ')
  if (scheme !== 'Bearer' || token === undefined) return response.send({ message: 'unauthorized' }, 401)
  try {
    request.user = verify(token)
  } catch {
    return response.send({ message: 'unauthorized' }, 401)
  }
  if (!request.user.scope.split(' ').includes('items:read')) return response.send({ message: 'forbidden' }, 403)
  return next()
}

const limit = rateLimit({
  limit: 1_000_000_000,
  windowMs: 1000,
  keyGenerator: (request) => request.user.client_id,
  handler: (_request, response) => response.send({ message: 'too many requests' }, 429),
})

const app = gateway({
  routes: [{ prefix: PREFIX, prefixRewrite: PREFIX, target: BACKEND, middlewares: [authenticate, limit] }],
})
app.getServer().keepAliveTimeout = 3_600_000

await app.start(Number(PORT), '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
