/** All groups of resource commands. */

import { APPROVALS, CONSUMERS, CREDENTIALS } from './access-commands.ts'
import { OPENAPI_SPECS, OPENSLA_SPECS, PRODUCTS } from './document-commands.ts'
import { ADRS, POLICY, PRINCIPLES, PROGRAMMES, RULESETS } from './governance-commands.ts'
import { ATTENTION, AUDIT, NODES, REQUESTS, RISKS, SERVICE, SYSTEM, USAGE } from './operations-commands.ts'
import { IDENTITY_PROVIDERS, PORTAL, ROLES, SEARCH, SIGNING_KEYS, TENANTS } from './organisation-commands.ts'
import { CLIENTS, ME, USERS } from './people-commands.ts'
import { APIS, PROXIES } from './publishing-commands.ts'
import type { ResourceGroup } from './resource-command.ts'
import { SUBSCRIPTIONS } from './subscription-commands.ts'
import { WEBHOOKS } from './webhook-commands.ts'

export const GROUPS: readonly ResourceGroup[] = [
  ...[APIS, PROXIES, PROGRAMMES, PRODUCTS, OPENAPI_SPECS, OPENSLA_SPECS],
  ...[CONSUMERS, SUBSCRIPTIONS, CREDENTIALS, APPROVALS],
  ...[ATTENTION, RISKS, USAGE, REQUESTS, AUDIT, WEBHOOKS],
  ...[POLICY, RULESETS, ADRS, PRINCIPLES],
  ...[USERS, ME, CLIENTS, ROLES, IDENTITY_PROVIDERS, SIGNING_KEYS, TENANTS, PORTAL, SEARCH, SYSTEM, NODES, SERVICE],
]
