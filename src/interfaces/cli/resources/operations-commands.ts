/** Commands for what happens at run time: risks, usage, requests, the audit log and the state of the service. */

import type { ResourceGroup } from './resource-command.ts'

export const RISKS: ResourceGroup = {
  name: 'risks',
  commands: [
    {
      name: 'list',
      operation: 'listRisks',
      call: 'GET /v1/risks',
      summary: 'Lists open risks',
      filters: 'category severity type api attributedTo state muted',
      columns: 'riskId severity type api operation count message lastSeen',
    },
    { name: 'get', operation: 'getRisk', call: 'GET /v1/risks/{riskId}', summary: 'Shows a risk' },
    {
      name: 'mute',
      operation: 'createMute',
      call: 'POST /v1/risks/{riskId}/mutes',
      summary: 'Mutes a risk with a reason, until a time',
      fields: 'until reason',
    },
    {
      name: 'get-mute',
      operation: 'getMute',
      call: 'GET /v1/risks/{riskId}/mutes/{muteId}',
      summary: 'Shows a mute of a risk',
    },
    {
      name: 'unmute',
      operation: 'endMute',
      call: 'DELETE /v1/risks/{riskId}/mutes/{muteId}',
      summary: 'Ends a mute',
    },
    {
      name: 'mutes-of',
      operation: 'listMutesOfRisk',
      call: 'GET /v1/risks/{riskId}/mutes',
      summary: 'Lists the mutes of a risk',
      columns: 'id state until reason mutedBy',
    },
    {
      name: 'mutes',
      operation: 'listMutes',
      call: 'GET /v1/mutes',
      summary: 'Lists mutes',
      filters: 'api state',
      columns: 'id riskId type api state until reason mutedBy',
    },
  ],
  examples: [
    ['tollgate risks list --severity Critical', 'lists critical risks'],
    [
      'tollgate risks mute rsk_8x2… --until 2026-12-01T00:00:00Z --reason "Load test of the partner"',
      'mutes a risk until a time',
    ],
    ['tollgate risks tail --api orders-v1', 'prints risks of an API as they happen'],
  ],
}

export const REQUESTS: ResourceGroup = {
  name: 'requests',
  commands: [
    {
      name: 'list',
      operation: 'listRequests',
      call: 'GET /v1/requests',
      summary: 'Lists single calls of the last seven days, newest first',
      filters: 'from to api customer outcome requestId revision',
      columns: 'time requestId status api operation outcome customerName durationMs resourceUnits',
    },
    {
      name: 'get',
      operation: 'getRequest',
      call: 'GET /v1/requests/{id}',
      summary: 'Explains a call: the stage that refused it, and why',
    },
    {
      name: 'explain',
      operation: 'explainRefusal',
      call: 'POST /v1/requests/explain',
      summary: 'Explains why calls are refused, by a call, a token or the start of an API key',
      fields: 'id keyPrefix api',
    },
  ],
  examples: [
    ['tollgate requests list --outcome refused', 'lists refused calls'],
    ['tollgate requests list --outcome payload_invalid', 'lists calls with an invalid payload'],
    ['tollgate requests get 0197…', 'explains a call by its X-Request-Id'],
    ['tollgate requests explain --key-prefix tg_4fYk2', 'explains the API keys that begin so'],
    ['tollgate requests explain --input token.yaml', 'explains a token; the file has a line `token: eyJ…`'],
  ],
}

export const USAGE: ResourceGroup = {
  name: 'usage',
  commands: [
    {
      name: 'items',
      operation: 'listLineItems',
      call: 'GET /v1',
      summary: 'Lists consumption, an item per key and 10 seconds',
      filters: 'from to api customer subscription operation revision',
      columns: 'time api operation customerName calls value amount currency',
      bar: 'value',
    },
    {
      name: 'summary',
      operation: 'listSummaries',
      call: 'GET /v1/summaries',
      summary: 'Lists totals of consumption',
      filters: 'from to api customer subscription operation revision groupBy interval',
      columns: 'api customer customerName operation subscription agent revision calls value amount currency from',
      bar: 'value',
    },
    {
      name: 'statement',
      operation: 'getStatement',
      call: 'GET /v1/statements',
      summary: 'Shows what a consumer used in a month, per API and price',
      filters: 'consumer month',
    },
  ],
  examples: [
    ['tollgate usage statement --consumer con_8x2… --month 2026-10', 'shows the lines of a month, per API and price'],
    ['tollgate usage summary --group-by api,operation', 'shows totals by operation, with a bar per row'],
    ['tollgate usage items --from 2026-11-01T00:00:00Z -o csv', 'prints line items for a spreadsheet'],
  ],
}

export const ATTENTION: ResourceGroup = {
  name: 'attention',
  commands: [
    {
      name: 'list',
      operation: 'readAttention',
      call: 'GET /v1/attention',
      summary: 'Lists what needs attention now',
      columns: 'severity kind count isMore',
    },
  ],
  examples: [['tollgate attention list', 'lists risks, approvals, backends and webhooks that wait for a person']],
}

/** The state of the process, for the operator. */
export const SYSTEM: ResourceGroup = {
  name: 'system',
  commands: [
    {
      name: 'settings',
      operation: 'listSettings',
      call: 'GET /v1/settings',
      summary: 'Lists the settings in force, without secrets',
      columns: 'name inForce isDefault isSecret meaning',
    },
    {
      name: 'health',
      operation: 'getServiceHealth',
      call: 'GET /v1/health',
      summary: 'Shows the spool, the pipeline, the threads, the store and the disk',
    },
  ],
  examples: [
    ['tollgate system health', 'shows how far usage is stored, and the space that is left'],
    ['tollgate system settings', 'lists settings with their defaults'],
  ],
}

/** The nodes that share the registry, for the operator. */
export const NODES: ResourceGroup = {
  name: 'nodes',
  commands: [
    {
      name: 'list',
      operation: 'listNodes',
      call: 'GET /v1/nodes',
      summary: 'Lists the nodes that share the registry',
      columns: 'name version position lag silentSeconds isLive differs clockOffsetSeconds registeredAt isSelf',
    },
    {
      name: 'remove',
      operation: 'removeNode',
      call: 'DELETE /v1/nodes/{name}',
      summary: 'Removes a node that does not return',
    },
  ],
  examples: [['tollgate nodes list', 'shows which nodes are live, and how far each is']],
}

export const AUDIT: ResourceGroup = {
  name: 'audit',
  commands: [
    {
      name: 'list',
      operation: 'listAudit',
      call: 'GET /v1/audit',
      summary: 'Lists who changed what',
      filters: 'kind id action consumer',
      columns: 'time actor action kind id fromRevision toRevision',
    },
  ],
  examples: [['tollgate audit list --kind subscription', 'lists changes of subscriptions']],
}

export const SERVICE: ResourceGroup = {
  name: 'service',
  isPublic: true,
  commands: [
    { name: 'health', operation: 'getHealth', call: 'GET /healthz', summary: 'Shows whether the process is alive' },
    { name: 'ready', operation: 'getReadiness', call: 'GET /readyz', summary: 'Shows whether the service is ready' },
    {
      name: 'metrics',
      operation: 'getMetrics',
      call: 'GET /metrics',
      summary: 'Prints metrics in the text format of Prometheus',
      isRaw: true,
    },
    {
      name: 'openapi',
      operation: 'getOpenApi',
      call: 'GET /openapi.json',
      summary: 'Prints the OpenAPI document of the platform API',
      isRaw: true,
    },
    {
      name: 'oauth-openapi',
      operation: 'getOauthOpenApi',
      call: 'GET /oauth.openapi.json',
      summary: 'Prints the OpenAPI document of the OAuth paths',
      isRaw: true,
    },
    {
      name: 'addresses',
      operation: 'getAddresses',
      call: 'GET /.well-known/tollgate',
      summary: 'Shows the addresses and the version of the service',
    },
  ],
  examples: [['tollgate service ready', 'exits with 2 unless the service is ready']],
}
