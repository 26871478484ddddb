/** Commands for APIs and their deployments. */

import type { ResourceGroup } from './resource-command.ts'

export const APIS: ResourceGroup = {
  name: 'apis',
  commands: [
    {
      name: 'list',
      operation: 'listApis',
      call: 'GET /v1/apis',
      summary: 'Lists the APIs of the catalogue',
      filters: 'state id label',
      columns: 'id title version state owner complianceScore retirementDate',
    },
    { name: 'get', operation: 'getApi', call: 'GET /v1/apis/{name}', summary: 'Shows an API' },
    {
      name: 'document',
      operation: 'getApiDocument',
      call: 'GET /v1/apis/{name}/document',
      summary: 'Prints the OpenAPI document that serves, as consumers see it',
      isRaw: true,
    },
    {
      name: 'label',
      operation: 'updateApi',
      call: 'PATCH /v1/apis/{name}',
      summary: 'Replaces the labels of an API',
      fields: 'labels:map',
    },
    {
      name: 'deprecate',
      operation: 'deprecateApi',
      call: 'POST /v1/apis/{name}/deprecate',
      summary: 'Deprecates an API from now on, with a date of retirement',
      fields: 'retirementDate successor note',
    },
    {
      name: 'retire',
      operation: 'retireApi',
      call: 'POST /v1/apis/{name}/retire',
      summary: 'Retires an API: its calls are refused',
      fields: 'force:flag',
    },
    {
      name: 'remove',
      operation: 'removeApi',
      call: 'DELETE /v1/apis/{name}',
      summary: 'Removes an API without subscriptions',
    },
    {
      name: 'policy',
      operation: 'getApiPolicy',
      call: 'GET /v1/apis/{name}/policy',
      summary: 'Shows the policy of an API',
    },
    {
      name: 'set-policy',
      operation: 'updateApiPolicy',
      call: 'PATCH /v1/apis/{name}/policy',
      summary: 'Changes the policy of an API; what is left out stays as it is',
      isUnchanged: true,
      fields: 'subscriptionApproval exposure tokenAlgorithm credentialLifetimeDays:number mcp:boolean cors:json',
    },
    {
      name: 'compliance',
      operation: 'getApiCompliance',
      call: 'GET /v1/apis/{name}/compliance',
      summary: 'Shows the compliance score of an API',
    },
    {
      name: 'service-level',
      operation: 'getServiceLevel',
      call: 'GET /v1/apis/{name}/serviceLevel',
      summary: 'Compares the service level of an API with its promise',
      filters: 'from to',
    },
  ],
  examples: [
    ['tollgate apis list --state Active -o json', 'prints all active APIs as JSON'],
    [
      'tollgate apis deprecate orders-v1 --retirement-date 2027-06-30T00:00:00Z --successor orders-v2',
      'announces the end of a version',
    ],
  ],
}

export const PROXIES: ResourceGroup = {
  name: 'proxies',
  commands: [
    {
      name: 'service-levels',
      operation: 'getServiceLevels',
      call: 'GET /v1/serviceLevels',
      summary: 'Shows the measured service level of all APIs together',
      filters: 'from to',
    },
    {
      name: 'list',
      operation: 'listProxies',
      call: 'GET /v1/proxies',
      summary: 'Lists deployments',
      filters: 'api hasStaging label',
      columns: 'id api state revision stagingRevision backend',
    },
    { name: 'get', operation: 'getProxy', call: 'GET /v1/proxies/{id}', summary: 'Shows a deployment' },
    {
      name: 'label',
      operation: 'updateProxy',
      call: 'PATCH /v1/proxies/{id}',
      summary: 'Replaces the labels of a deployment',
      fields: 'labels:map',
    },
    {
      name: 'stage',
      operation: 'stageRevision',
      call: 'POST /v1/proxies',
      summary: 'Stages a revision',
      fields: 'api specification:file fromRevision:number backend:address allowedScopes:list',
    },
    {
      name: 'revisions',
      operation: 'listRevisions',
      call: 'GET /v1/proxies/{id}/revisions',
      summary: 'Lists the revisions that are kept',
      columns: 'revision fate time version specification',
    },
    {
      name: 'levels',
      operation: 'getRevisionLevels',
      call: 'GET /v1/proxies/{id}/levels',
      summary: 'Compares errors and latency of the revisions that served',
      filters: 'from to',
      columns: 'revision fate calls unanswered errors errorPercent latency',
    },
    {
      name: 'activate',
      operation: 'activateRevision',
      call: 'POST /v1/proxies/{id}/activate',
      summary: 'Makes the staged revision serve all callers, or some of them',
      fields: 'percent:number consumers:list',
    },
    {
      name: 'discard',
      operation: 'discardRevision',
      call: 'POST /v1/proxies/{id}/discard',
      summary: 'Discards the staged revision',
    },
  ],
  examples: [
    [
      'tollgate proxies deploy openapi.yaml --backend http://10.0.0.7:3000 --activate',
      'deploys a document and makes it serve',
    ],
    ['tollgate proxies list --has-staging true', 'lists the APIs with a staged revision that waits for its activation'],
    ['tollgate proxies activate prx_… --percent 10', 'lets the staged revision serve a tenth of the subscriptions'],
    ['tollgate proxies rollback prx_… --to 3', 'makes revision 3 serve again'],
  ],
}
