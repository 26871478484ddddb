/** Commands for consumers, credentials and approvals. */

import type { ResourceGroup } from './resource-command.ts'

export const CONSUMERS: ResourceGroup = {
  name: 'consumers',
  commands: [
    {
      name: 'list',
      operation: 'listConsumers',
      call: 'GET /v1/consumers',
      summary: 'Lists consumers',
      filters: 'name kind state label',
      columns: 'id name kind state exposure contact createdAt',
    },
    { name: 'get', operation: 'getConsumer', call: 'GET /v1/consumers/{id}', summary: 'Shows a consumer' },
    {
      name: 'create',
      operation: 'createConsumer',
      call: 'POST /v1/consumers',
      summary: 'Creates a consumer',
      fields: 'name kind contact exposure labels:map',
    },
    {
      name: 'update',
      operation: 'updateConsumer',
      call: 'PATCH /v1/consumers/{id}',
      summary: 'Changes fields of a consumer',
      fields: 'name contact exposure labels:map',
    },
    {
      name: 'disable',
      operation: 'disableConsumer',
      call: 'POST /v1/consumers/{id}/disable',
      summary: 'Refuses the calls of a consumer',
    },
    {
      name: 'enable',
      operation: 'enableConsumer',
      call: 'POST /v1/consumers/{id}/enable',
      summary: 'Admits the calls of a consumer again',
    },
    {
      name: 'remove',
      operation: 'removeConsumer',
      call: 'DELETE /v1/consumers/{id}',
      summary: 'Removes a consumer',
      filters: 'erase',
    },
  ],
  examples: [
    ['tollgate consumers create --name shop --kind application', 'creates a consumer'],
    ['tollgate consumers list --kind agent -o name', 'prints the ids of all agents'],
  ],
}

export const CREDENTIALS: ResourceGroup = {
  name: 'credentials',
  commands: [
    {
      name: 'list',
      operation: 'listCredentials',
      call: 'GET /v1/subscriptions/{id}/credentials',
      summary: 'Lists the credentials of a subscription',
      filters: 'reveal label',
      columns: 'id name type clientId keyPrefix state scopes expiresAt lastUsedAt',
    },
    {
      name: 'update',
      operation: 'updateCredential',
      call: 'PATCH /v1/subscriptions/{id}/credentials/{credentialId}',
      summary: 'Changes the name or the labels of a credential',
      fields: 'name labels:map',
    },
    {
      name: 'rotate',
      operation: 'rotateCredentials',
      call: 'POST /v1/subscriptions/{id}/credentials/rotate',
      summary: 'Replaces the credentials of a subscription, and prints the new ones',
      fields: 'overlapSeconds:number certificateThumbprint',
      columns: 'id type clientId clientSecret apiKey expiresAt',
    },
    {
      name: 'revoke',
      operation: 'revokeCredential',
      call: 'DELETE /v1/subscriptions/{id}/credentials/{credentialId}',
      summary: 'Revokes a credential at once',
    },
  ],
  examples: [
    [
      'tollgate credentials rotate sub_… --overlap-seconds 3600 -o json',
      'prints new credentials; the old ones work for an hour',
    ],
    ['tollgate credentials list sub_… -o json', 'prints the credentials with the secrets that you may read'],
  ],
}

export const APPROVALS: ResourceGroup = {
  name: 'approvals',
  commands: [
    {
      name: 'list',
      operation: 'listWaitingFlows',
      call: 'GET /v1/approvals',
      summary: 'Lists what waits for a decision',
      filters: 'state label',
      columns: 'id kind subscription programme state requester createdAt',
    },
    {
      name: 'get',
      operation: 'findApprovalFlow',
      call: 'GET /v1/approvals/{id}',
      summary: 'Shows an approval flow with its decisions',
    },
    {
      name: 'label',
      operation: 'labelApprovalFlow',
      call: 'PATCH /v1/approvals/{id}',
      summary: 'Replaces the labels of an approval flow',
      fields: 'labels:map',
    },
  ],
  examples: [
    ['tollgate approvals list', 'lists what waits for a decision'],
    ['tollgate approvals approve apf_… --comments "within budget"', 'approves one'],
  ],
}
