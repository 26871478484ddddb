/** The policy of the tenant: one resource, which always exists. */

import type { Handler } from './handler.ts'
import { explicit, isFields } from './resource.ts'
import { pick } from './simple-handler.ts'

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
      const fields = explicit(KIND, { approval, ruleset: named, secondFactor })
      return [{ kind: KIND, name: NAME, fields, id: NAME, tags: [tag] }]
    },
    create: () => Promise.resolve(null),
    async change({ platform, names }, found, { fields }, changed) {
      const { ruleset, ...wanted } = pick(fields, changed)
      const id = typeof ruleset === 'string' ? names.idOf('ruleset', ruleset) : ruleset
      await platform.send('PATCH', PATH, { ...wanted, ...(id !== undefined && { ruleset: id }) }, found.tags[0])
      return null
    },
    remove: null,
  }
}
