/** `/v1/portal`: the portal of the caller's tenant, with the consumers that the caller acts for. */

import type { ConsumerNames } from '../../control/access/consumer-names.ts'
import type { Entitlements } from '../../control/access/people/entitlements.ts'
import type { Portals } from '../../control/access/portals.ts'
import { coveredConsumers } from './caller-owner.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, name, named, nullable, object, text } from './schemas.ts'

/** An image of 64 KiB in base64, and the rest of a body. */
export const PORTAL_BODY_BYTES_MAX = 100 * 1024
const LOGO_TEXT_MAX = 88_000

const colour = { type: 'string', maxLength: 7, pattern: '^#[0-9A-Fa-f]{6}$' } as const
const fields = {
  enabled: { type: 'boolean', description: 'Whether the people of consumers may sign in to the console.' },
  name: { ...nullable(text), description: 'Shown instead of the name of the product.' },
  colour: { ...nullable(text), description: 'The console derives a shade with enough contrast for each theme.' },
  logoUrl: { ...nullable(text), description: 'Path of the image.' },
} as const
export const portal = named('Portal', object(fields))
export const portalChange = named(
  'PortalChange',
  object(
    {
      enabled: { type: 'boolean' },
      name: nullable(name),
      colour: nullable(colour),
      logo: {
        ...nullable({ type: 'string', maxLength: LOGO_TEXT_MAX, pattern: '^[A-Za-z0-9+/]+={0,2}$' } as const),
        writeOnly: true,
        description:
          'In base64: a PNG, JPEG or WebP image of at most 64 KiB and 1,024 by 1,024 pixels. Null removes it.',
      },
    },
    [],
  ),
)
const ownPortal = named(
  'OwnPortal',
  object({
    ...fields,
    consumers: {
      type: 'array',
      items: object({ id, name: text }),
      description: 'The consumers that the caller acts for, at most 100. `X-Consumer-Id` chooses one of them.',
    },
  }),
)
const tag = 'Users'

export const PORTAL_OPERATIONS = {
  getPortal: {
    method: 'GET',
    path: '/v1/portal',
    summary: 'Returns the portal of the tenant, and the consumers that the caller acts for',
    tag,
    scope: 'me:read',
    singleWidth: 'Everybody sees the name and the logo; the consumers are those of the caller.',
    status: 200,
    answer: ownPortal,
  },
  updatePortal: {
    method: 'PATCH',
    path: '/v1/portal',
    summary: 'Changes the name, the logo and the colour of the portal, or switches it off',
    tag,
    scope: 'portal:write',
    body: portalChange,
    bodyBytesMax: PORTAL_BODY_BYTES_MAX,
    status: 200,
    answer: portal,
    problems: ['state_conflict'],
    changes: 'getPortal',
  },
} as const satisfies Operations

export interface PortalHandlersOptions {
  readonly portals: Pick<Portals, 'get' | 'update'>
  readonly consumerNames: ConsumerNames
  readonly entitlements: Pick<Entitlements, 'ofUser'>
}

const CONSUMERS_MAX = 100

export function portalHandlers(options: PortalHandlersOptions): Handlers<typeof PORTAL_OPERATIONS> {
  const { portals, consumerNames, entitlements } = options
  return {
    async getPortal({ author: { tenant }, caller }) {
      const covered = await coveredConsumers(entitlements, caller)
      const consumers = await consumerNames(tenant, covered.slice(0, CONSUMERS_MAX))
      return { ...(await portals.get(tenant)), consumers }
    },
    updatePortal: async ({ author, body }) => portals.update(author, author.tenant, body),
  }
}
