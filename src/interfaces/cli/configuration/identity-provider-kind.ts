/**
 * Identity providers, named by their issuers.
 *
 * The service never returns the client secret. It is sent when the sign-in is created, and when the client changes.
 */

import { knownApis } from './known-apis.ts'
import { isFields, isNothing, type Fields, type Found } from './resource.ts'
import { rolesFault, withRoleIds, withRoleNames } from './role-consumers.ts'
import { isSameValue } from './same-value.ts'
import type { SimpleKind } from './simple-handler.ts'

const KIND = 'identityprovider'

export const identityProviderKind: SimpleKind = {
  kind: KIND,
  path: '/v1/identityproviders',
  key: 'issuer',
  fields: ['audience', 'claims', 'apis', 'signIn', 'labels'],
  // Without any, its tokens would open all APIs.
  isLeftOut: ({ apis }, context) => !isNothing(apis) && isNothing(knownApis(context, apis)),
  fromService: (context, { apis, ...fields }) => {
    return { apis: knownApis(context, apis), ...withSignIn(fields, (signIn) => withRoleNames(context, signIn)) }
  },
  toService: (context, fields, found) =>
    withSignIn(fields, (signIn) => withRoleIds(context, found === null ? signIn : changedIn(signIn, found))),
  faultIn({ signIn }) {
    if (signIn === undefined || signIn === null) return null
    return isFields(signIn) ? rolesFault(signIn) : 'signIn must be an object.'
  },
}

function withSignIn(fields: Fields, map: (signIn: Fields) => Fields): Fields {
  const { signIn } = fields
  return isFields(signIn) ? { ...fields, signIn: map(signIn) } : fields
}

/** Returns the members to send: roles and a client that are sent again would end the access of the people of the provider. */
function changedIn(signIn: Fields, { fields }: Found): Fields {
  const before = fields['signIn']
  if (!isFields(before)) return signIn
  const isNewClient = signIn['clientId'] !== undefined && signIn['clientId'] !== before['clientId']
  const entries = Object.entries(signIn).filter(([name, value]) => {
    return name === 'clientSecret' ? isNewClient : !isSameValue(KIND, name, before[name], value)
  })
  return Object.fromEntries(entries)
}
