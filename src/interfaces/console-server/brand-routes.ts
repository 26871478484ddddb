/**
 * The name, the colour and the logo of an organisation, for the page before the sign-in.
 *
 * The answer for an organisation that does not exist is that for one without a brand. A logo is an image of a type that its bytes have
 * shown, and a browser that opens it alone runs nothing in it.
 */

import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Portals } from '../../control/access/portals.ts'
import { Problem } from '../../foundation/domain/problem.ts'

const NAME_LENGTH_MAX = 128
const KEPT_SECONDS = 3_600

export function installBrandRoutes(app: FastifyInstance, portals: Pick<Portals, 'brandOf' | 'logo'>): void {
  app.get('/console/brand', async ({ query }, reply) => {
    const { organisation } = query as Readonly<Record<string, unknown>>
    const named = typeof organisation === 'string' ? organisation.slice(0, NAME_LENGTH_MAX) : ''
    return reply.headers(headersOf('no-store')).send(await portals.brandOf(named))
  })
  app.get('/console/logo/:tenant', async ({ params }, reply) => sendLogo(portals, params, reply))
}

async function sendLogo(portals: Pick<Portals, 'logo'>, params: unknown, reply: FastifyReply): Promise<unknown> {
  const { tenant } = params as { readonly tenant: string }
  const logo = await portals.logo(tenant.slice(0, NAME_LENGTH_MAX))
  if (logo === null) throw new Problem('not_found', 'There is no such logo.')
  return reply
    .headers(headersOf(`public, max-age=${KEPT_SECONDS}`))
    .type(logo.mediaType)
    .send(logo.bytes)
}

function headersOf(cacheControl: string): Readonly<Record<string, string>> {
  return {
    'Cache-Control': cacheControl,
    'Content-Security-Policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
  }
}
