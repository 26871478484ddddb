/** Commands for subscriptions. */

import type { ResourceGroup } from './resource-command.ts'

export const SUBSCRIPTIONS: ResourceGroup = {
  name: 'subscriptions',
  commands: [
    {
      name: 'list',
      operation: 'listSubscriptions',
      call: 'GET /v1/subscriptions',
      summary: 'Lists subscriptions',
      filters: 'consumer api product state label',
      columns: 'id consumer ApiId ApiProductId state slaVariant createdAt',
    },
    { name: 'get', operation: 'getSubscription', call: 'GET /v1/subscriptions/{id}', summary: 'Shows a subscription' },
    {
      name: 'create',
      operation: 'createSubscription',
      call: 'POST /v1/subscriptions',
      summary: 'Subscribes a consumer to an API or a product',
      fields:
        'consumer api product slaVariant scopes:list securityTypes:list redirectUris:list federated:json certificateThumbprint contact expiresAt labels:map force:flag',
    },
    {
      name: 'update',
      operation: 'updateSubscription',
      call: 'PATCH /v1/subscriptions/{id}',
      summary: 'Changes fields of a subscription',
      fields: 'contact expiresAt refreshTokens:boolean labels:map',
    },
    {
      name: 'suspend',
      operation: 'suspendSubscription',
      call: 'POST /v1/subscriptions/{id}/suspend',
      summary: 'Suspends a subscription',
    },
    {
      name: 'resume',
      operation: 'resumeSubscription',
      call: 'POST /v1/subscriptions/{id}/resume',
      summary: 'Resumes a suspended subscription',
    },
    {
      name: 'cancel',
      operation: 'cancelSubscription',
      call: 'POST /v1/subscriptions/{id}/cancel',
      summary: 'Cancels a subscription for good',
    },
    {
      name: 'set-scopes',
      operation: 'setScopes',
      call: 'PUT /v1/subscriptions/{id}/scopes',
      summary: 'Replaces the scopes of a subscription',
      fields: 'scopes:list',
    },
    {
      name: 'change-tier',
      operation: 'requestTierChange',
      call: 'POST /v1/subscriptions/{id}/tierChanges',
      summary: 'Asks for another tier',
      fields: 'slaVariant reason',
    },
    {
      name: 'operations',
      operation: 'listOperations',
      call: 'GET /v1/subscriptions/{id}/operations',
      summary: 'Lists the operations that a subscription may call',
      columns: 'operationId method path scopes resourceUnits',
    },
    {
      name: 'flows',
      operation: 'listApprovalFlows',
      call: 'GET /v1/subscriptions/{id}/approvalFlows',
      summary: 'Lists the approval flows of a subscription',
      filters: 'label',
      columns: 'id kind state slaVariant requester createdAt',
    },
    {
      name: 'flow',
      operation: 'getApprovalFlow',
      call: 'GET /v1/subscriptions/{id}/approvalFlows/{flowId}',
      summary: 'Shows an approval flow',
    },
    {
      name: 'decisions',
      operation: 'listApprovals',
      call: 'GET /v1/subscriptions/{id}/approvalFlows/{flowId}/approvals',
      summary: 'Lists the decisions of an approval flow',
      columns: 'time approver outcome comments',
    },
    {
      name: 'decide',
      operation: 'decide',
      call: 'POST /v1/subscriptions/{id}/approvalFlows/{flowId}/approvals',
      summary: 'Decides an approval flow',
      fields: 'outcome comments',
    },
  ],
  examples: [
    ['tollgate subscriptions create --consumer con_… --api orders-v1 --sla-variant gold', 'subscribes a consumer'],
    ['tollgate subscriptions list --state Pending', 'lists subscriptions that wait for approval'],
  ],
}
