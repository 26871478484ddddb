import { expect, it } from 'vitest'
import { createAdmission } from '../../../../src/interfaces/console-server/admission.ts'

function tokenOf(scope: string, tenant = 'acme'): string {
  return `h.${Buffer.from(JSON.stringify({ scope, tenant })).toString('base64url')}.s`
}

const admission = createAdmission({ isPortalOn: async (tenant) => tenant === 'open' })

it.each([
  ['usage:read:own me:read me:write', 'acme', false],
  ['usage:read:own me:read me:write', 'open', true],
  ['me:read', 'acme', false],
  ['usage:read:own usage:read', 'acme', true],
  ['risks:read', 'acme', true],
  // Only the end of a scope is its width.
  ['x:own:read', 'acme', true],
])('with the scopes %s, a person of %s is admitted: %s', async (scope, tenant, isAdmitted) => {
  expect(await admission.admits(tokenOf(scope, tenant))).toBe(isAdmitted)
})
