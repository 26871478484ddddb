/** Fields without a hostile value, although their own schemas accept one: each with the reason. */

const EXISTS = 'It names a resource that exists; others are refused.'
const SECRET = 'It is never answered.'
const CERTIFICATES = 'Only certificates are accepted.'
const READ = 'Nothing is stored. The views of the explanation have tests of their own.'
const VETTED = 'Only names and paths that the linter knows are accepted.'

export const EXCEPTIONS: Readonly<Record<string, string>> = {
  'deprecateApi /successor': EXISTS,
  'activateRevision /consumers/[]': EXISTS,
  'createProgramme /backend/targets/[]/url': 'A programme has one address. `stageRevision` is tried with several.',
  'explainRefusal /id': READ,
  'explainRefusal /token': READ,
  'explainRefusal /api': READ,
  ...ofBoth(
    'createRuleset',
    'updateRuleset',
    ['/extends', '/formats/[]', '/aliases/{key}', '/aliases/{value}', '/rules/{key}'],
    VETTED,
  ),
  ...ofBoth('putTenantPolicy', 'updateTenantPolicy', ['/ruleset'], EXISTS),
  'stageRevision /api': 'The schema of the handler accepts names of APIs only.',
  ...ofBoth('stageRevision', 'createProgramme', ['/backend/tls/key', '/backend/secretHeaders/[]/value'], SECRET),
  ...ofBoth('stageRevision', 'createProgramme', ['/backend/tls/certificate', '/backend/tls/ca'], CERTIFICATES),
  'createOpenSlaSpec /api': EXISTS,
  'validateOpenSlaSpec /api': EXISTS,
  'createProduct /apis/[]': EXISTS,
  ...ofBoth('replaceProduct', 'updateProduct', ['/apis/[]'], EXISTS),
  'createSubscription /consumer': EXISTS,
  'createSubscription /api': EXISTS,
  'createSubscription /product': EXISTS,
  'createSubscription /federated/issuer': EXISTS,
  'createUser /password': SECRET,
  'createUser /identity/provider': EXISTS,
  ...ofBoth('createUser', 'updateUser', ['/roles/[]/role', '/roles/[]/consumers/[]'], EXISTS),
  'changePassword /oldPassword': SECRET,
  'changePassword /newPassword': SECRET,
  ...ofBoth('createRole', 'replaceRole', ['/scopes/[]'], EXISTS),
  'updateRole /scopes/[]': EXISTS,
  'createIdentityProvider /issuer': 'Its metadata is read from there before it is stored.',
  ...ofBoth(
    'createIdentityProvider',
    'updateIdentityProvider',
    ['/apis/[]', '/signIn/roles/[]/role', '/signIn/roles/[]/consumers/[]'],
    EXISTS,
  ),
  ...ofBoth('createIdentityProvider', 'updateIdentityProvider', ['/signIn/scopes/[]'], 'The provider must support it.'),
  'redeliver /delivery': EXISTS,
  ...ofBoth('createAdr', 'updateAdr', ['/api'], EXISTS),
}

function ofBoth(
  one: string,
  other: string,
  fields: readonly string[],
  reason: string,
): Readonly<Record<string, string>> {
  return Object.fromEntries([one, other].flatMap((each) => fields.map((field) => [`${each} ${field}`, reason])))
}
