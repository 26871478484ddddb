/** The policy of the tenant: one resource, which always exists. */

import type { Handler } from './handler.ts'
import { isFields } from './resource.ts'
import { withoutNothing } from './simple-handler.ts'

const KIND = 'policy'
const NAME = 'tenant'
const PATH = '/v1/policy'

export function createPolicyHandler(): Handler {
  return {
    kind: KIND,
    fields: ['approval', 'ruleset', 'secondFactor'],
    nameOf: () => NAME,
    faultIn: ({ approval }) => (isFields(approval ?? {}) ? null : 'approval must be an object.'),
    async read({ platform, names }) {
      const { body, tag } = await platform.get(PATH)
      const { approval, ruleset, secondFactor } = body
      const named = typeof ruleset === 'string' ? names.findName('ruleset', ruleset) : null
      const fields = withoutNothing({ approval, ruleset: named, secondFactor })
      return [{ kind: KIND, name: NAME, fields, id: NAME, tags: [tag] }]
    },
    create: () => Promise.resolve(null),
    async change({ platform, names }, found, { fields }) {
      const { approval } = fields
      const wanted: Record<string, unknown> = { ...found.fields, ...fields }
      if (isFields(approval)) wanted['approval'] = { ...(found.fields['approval'] as object), ...approval }
      const { ruleset } = wanted
      if (typeof ruleset === 'string') wanted['ruleset'] = names.idOf('ruleset', ruleset)
      await platform.send('PUT', PATH, wanted, found.tags[0])
      return null
    },
    remove: null,
  }
}
