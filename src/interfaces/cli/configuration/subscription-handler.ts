/**
 * Subscriptions. Their name is made of the consumer and the API or product; a consumer that has several to the same one numbers
 * them.
 */

import { createHaltedHandler, withState } from './halting.ts'
import type { Context, Handler } from './handler.ts'
import { explicit, type Fields, type Found, type Resource } from './resource.ts'
import { knownApis } from './known-apis.ts'
import { mapInParallel, pick, withoutFields, withoutNull } from './simple-handler.ts'
import {
  CLIENT_FIELDS,
  clientFault,
  clientFields,
  clientInput,
  refuseClientChange,
  revokeUnwanted,
} from './subscription-client.ts'

const KIND = 'subscription'
const PATH = '/v1/subscriptions'
/** The service itself keeps the subscription by which people of the tenant use the platform. */
const OWN_NAME = 'People of the tenant to platform-v1'
const ENDED: readonly unknown[] = ['Cancelled', 'Rejected']
const WAITS_FOR: Readonly<Record<string, NonNullable<Found['waitsFor']>>> = {
  Pending: 'an approval',
  WaitlistedForCapacity: 'capacity',
}
/** Fields of PATCH; scopes and tier have operations of their own. */
const PATCHED = new Set(['contact', 'expiresAt', 'refreshTokens', 'labels'])

const HALTING = {
  ...{ path: PATH, running: 'Active', halted: 'Suspended' },
  operations: { halt: 'suspend', resume: 'resume' },
}

export function createSubscriptionHandler(): Handler {
  const handler: Handler = {
    kind: KIND,
    fields: ['consumer', 'api', 'product', 'number', 'slaVariant', 'scopes', ...CLIENT_FIELDS, ...PATCHED],
    nameOf,
    faultIn({ number = 1, ...fields }) {
      const isNumber = Number.isInteger(number) && Number(number) > 0
      return isNumber ? clientFault(fields) : 'number must be a whole number from 1.'
    },
    read,
    async create(context, { name, fields }) {
      const { consumer, product, number: _, refreshTokens, ...rest } = withoutNull(fields)
      const body = {
        ...withoutFields(rest, CLIENT_FIELDS),
        ...clientInput(fields),
        consumer: context.names.idOf('consumer', String(consumer)),
        ...(product !== undefined && { product: context.names.idOf('product', String(product)) }),
      }
      const { body: created } = await context.platform.send('POST', PATH, body)
      const id = String(created['id'])
      context.names.add(KIND, name, id)
      await revokeUnwanted(context.platform, id, fields)
      if (refreshTokens === true) await context.platform.send('PATCH', `${PATH}/${id}`, { refreshTokens })
      const waitsFor = WAITS_FOR[String(created['state'])]
      return waitsFor === undefined ? null : `waits for ${waitsFor}`
    },
    change,
    async remove({ platform }, found) {
      await platform.send('POST', `${PATH}/${found.id}/cancel`, {}, found.tags[0])
    },
  }
  return createHaltedHandler(handler, HALTING)
}

/** Returns for example `Mobile app to payments-v1`. */
function nameOf({ consumer, api, product, number = 1 }: Fields): string | null {
  const target = api ?? product
  if (typeof consumer !== 'string' || typeof target !== 'string' || (api !== undefined && product !== undefined))
    return null
  return `${consumer} to ${target}${number === 1 ? '' : ` (${String(number)})`}`
}

async function read(context: Context): Promise<readonly Found[]> {
  const { platform, names } = context
  const bodies = (await platform.list(PATH)).filter(({ state, ApiId: api }) => {
    // Those of an API that the folder leaves out could not be made again.
    return !ENDED.includes(state) && (api === null || knownApis(context, [api]).length > 0)
  })
  const answers = await mapInParallel(bodies, ({ id }) => platform.get(`${PATH}/${String(id)}`))
  const numbers = new Map<string, number>()
  const found = answers.map(({ body, tag }) => {
    const { id, consumer, ApiId: api, ApiProductId, slaVariant, state } = body
    const all = body['scopes'] as readonly string[]
    // A product may have had an API that is retired.
    const scopes = ApiProductId === null ? all : all.filter((scope) => names.findName('scope', scope) !== undefined)
    const target = {
      consumer: names.findName('consumer', String(consumer)) ?? consumer,
      ...(ApiProductId === null
        ? { api }
        : { product: names.findName('product', String(ApiProductId)) ?? ApiProductId }),
    }
    // By ids: consumers of one name do not share numbers.
    const pair = `${String(consumer)} ${String(api)} ${String(ApiProductId)}`
    const number = (numbers.get(pair) ?? 0) + 1
    numbers.set(pair, number)
    const own = pick(body, PATCHED)
    const fields = { ...target, ...(number > 1 && { number }), slaVariant, scopes, ...clientFields(body), ...own }
    const name = nameOf(fields)!
    names.add(KIND, name, String(id))
    const waitsFor = WAITS_FOR[String(state)]
    return {
      kind: KIND,
      name,
      ...(waitsFor !== undefined && { waitsFor }),
      ...withState(HALTING, state, explicit(KIND, fields)),
      id: String(id),
      tags: [tag],
    }
  })
  return found.filter(({ name }) => name !== OWN_NAME)
}

async function change(
  { platform }: Context,
  found: Found,
  { fields }: Pick<Resource, 'fields'>,
  changed: ReadonlySet<string>,
): Promise<string | null> {
  refuseClientChange(found, fields, changed)
  const path = `${PATH}/${found.id}`
  let tag = found.tags[0]
  const patch = pick(fields, changed.intersection(PATCHED))
  if (Object.keys(patch).length > 0) tag = (await platform.send('PATCH', path, patch, tag)).tag
  if (changed.has('scopes')) tag = (await platform.send('PUT', `${path}/scopes`, { scopes: fields['scopes'] }, tag)).tag
  if (!changed.has('slaVariant')) return null
  // A folder without the field wants the default tier.
  const request = { slaVariant: fields['slaVariant'] ?? null, reason: 'tollgate apply' }
  const { body } = await platform.send('POST', `${path}/tierChanges`, request, tag)
  if (body['state'] === 'Complete') return null
  return `the change of its tier waits for ${body['state'] === 'Approved' ? 'capacity' : 'an approval'}`
}
