/** Commands for roles, identity providers, signing keys and tenants. */

import type { ResourceGroup } from './resource-command.ts'

export const ROLES: ResourceGroup = {
  name: 'roles',
  commands: [
    {
      name: 'list',
      operation: 'listRoles',
      call: 'GET /v1/roles',
      summary: 'Lists roles',
      filters: 'label',
      columns: 'name description builtIn',
    },
    { name: 'get', operation: 'getRole', call: 'GET /v1/roles/{name}', summary: 'Shows a role' },
    {
      name: 'create',
      operation: 'createRole',
      call: 'POST /v1/roles',
      summary: 'Creates a role',
      fields: 'name description scopes:list labels:map',
    },
    {
      name: 'update',
      operation: 'updateRole',
      call: 'PATCH /v1/roles/{name}',
      summary: 'Changes a role; what is left out stays as it is',
      isUnchanged: true,
      fields: 'description scopes:list labels:map',
    },
    { name: 'remove', operation: 'deleteRole', call: 'DELETE /v1/roles/{name}', summary: 'Removes a role' },
  ],
  examples: [['tollgate roles create --name watcher --scopes risks:read,usage:read', 'creates a role']],
}

export const IDENTITY_PROVIDERS: ResourceGroup = {
  name: 'identityproviders',
  commands: [
    {
      name: 'list',
      operation: 'listIdentityProviders',
      call: 'GET /v1/identityproviders',
      summary: 'Lists identity providers',
      filters: 'label',
      columns: 'id issuer audience apis redirectUri',
    },
    {
      name: 'get',
      operation: 'getIdentityProvider',
      call: 'GET /v1/identityproviders/{id}',
      summary: 'Shows an identity provider',
    },
    {
      name: 'create',
      operation: 'createIdentityProvider',
      call: 'POST /v1/identityproviders',
      summary: 'Registers an identity provider; its client secret belongs in a file for --input',
      fields: 'issuer audience claims:json apis:list labels:map',
    },
    {
      name: 'update',
      operation: 'updateIdentityProvider',
      call: 'PATCH /v1/identityproviders/{id}',
      summary: 'Changes an identity provider; its client secret belongs in a file for --input',
      fields: 'audience claims:json apis:list labels:map',
    },
    {
      name: 'remove',
      operation: 'removeIdentityProvider',
      call: 'DELETE /v1/identityproviders/{id}',
      summary: 'Removes an identity provider',
    },
  ],
  examples: [['tollgate identityproviders create --issuer https://login.example', 'accepts the tokens of a provider']],
}

export const SIGNING_KEYS: ResourceGroup = {
  name: 'signingkeys',
  commands: [
    {
      name: 'list',
      operation: 'listSigningKeys',
      call: 'GET /v1/signingkeys',
      summary: 'Lists the keys that sign tokens',
      columns: 'id algorithm role createdAt publishedUntil',
    },
    {
      name: 'rotate',
      operation: 'rotateSigningKeys',
      call: 'POST /v1/signingkeys/rotate',
      summary: 'Replaces the keys that sign tokens',
    },
  ],
  examples: [['tollgate signingkeys list', 'lists the keys']],
}

export const TENANTS: ResourceGroup = {
  name: 'tenants',
  commands: [
    {
      name: 'list',
      operation: 'listTenants',
      call: 'GET /v1/tenants',
      summary: 'Lists tenants',
      filters: 'label',
      columns: 'id name state createdAt',
    },
    { name: 'get', operation: 'getTenant', call: 'GET /v1/tenants/{id}', summary: 'Shows a tenant' },
    {
      name: 'create',
      operation: 'createTenant',
      call: 'POST /v1/tenants',
      summary: 'Creates a tenant, and prints its first credential',
      fields: 'name labels:map',
    },
    {
      name: 'update',
      operation: 'updateTenant',
      call: 'PATCH /v1/tenants/{id}',
      summary: 'Changes fields of a tenant',
      fields: 'name portal:json labels:map',
    },
    {
      name: 'disable',
      operation: 'disableTenant',
      call: 'POST /v1/tenants/{id}/disable',
      summary: 'Refuses all calls of a tenant',
    },
    {
      name: 'enable',
      operation: 'enableTenant',
      call: 'POST /v1/tenants/{id}/enable',
      summary: 'Admits the calls of a tenant again',
    },
    {
      name: 'export',
      operation: 'exportTenant',
      call: 'GET /v1/tenants/{id}/export',
      summary: 'Prints everything that a tenant owns, a JSON value per line',
      isRaw: true,
    },
    { name: 'remove', operation: 'removeTenant', call: 'DELETE /v1/tenants/{id}', summary: 'Removes a tenant' },
  ],
  examples: [['tollgate tenants create --name acme -o json', 'creates a tenant']],
}

export const PORTAL: ResourceGroup = {
  name: 'portal',
  commands: [
    {
      name: 'get',
      operation: 'getPortal',
      call: 'GET /v1/portal',
      summary: 'Shows the portal for people of consumers',
    },
    {
      name: 'update',
      operation: 'updatePortal',
      call: 'PATCH /v1/portal',
      summary: 'Changes the name, the colour or the logo of the portal, or switches it off',
      fields: 'enabled:boolean name colour logo:file',
    },
  ],
  examples: [["tollgate portal update --name 'Acme APIs' --colour '#1f4fd8' --logo logo.png", 'shows your brand']],
}

export const SEARCH: ResourceGroup = {
  name: 'search',
  isOneCommand: true,
  commands: [
    {
      name: 'search',
      operation: 'search',
      call: 'GET /v1/search',
      summary:
        'Finds APIs, consumers, subscriptions, products, programmes and people whose id or name begins with a text, five of each',
      filters: 'q',
      argument: { filter: 'q', name: 'text' },
      items: 'found',
      none: 'No API, consumer, subscription, product, programme or person has an id or a name that begins with this text.',
    },
  ],
  examples: [['tollgate search orders', 'finds what begins with "orders"']],
}
