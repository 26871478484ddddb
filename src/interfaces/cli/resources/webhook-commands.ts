/** Commands for receivers of events. */

import type { ResourceGroup } from './resource-command.ts'

export const WEBHOOKS: ResourceGroup = {
  name: 'webhooks',
  commands: [
    {
      name: 'list',
      operation: 'listEventSubscriptions',
      call: 'GET /v1/eventsubscriptions',
      summary: 'Lists receivers of events',
      filters: 'label',
      columns: 'id url events state failingSince',
    },
    {
      name: 'get',
      operation: 'getEventSubscription',
      call: 'GET /v1/eventsubscriptions/{id}',
      summary: 'Shows a receiver',
    },
    {
      name: 'create',
      operation: 'createEventSubscription',
      call: 'POST /v1/eventsubscriptions',
      summary: 'Registers a receiver, and prints its secret',
      fields: 'url events:list labels:map',
    },
    {
      name: 'update',
      operation: 'updateEventSubscription',
      call: 'PATCH /v1/eventsubscriptions/{id}',
      summary: 'Changes fields of a receiver',
      fields: 'url events:list state labels:map',
    },
    {
      name: 'remove',
      operation: 'removeEventSubscription',
      call: 'DELETE /v1/eventsubscriptions/{id}',
      summary: 'Removes a receiver',
    },
    {
      name: 'deliveries',
      operation: 'listDeliveries',
      call: 'GET /v1/eventsubscriptions/{id}/deliveries',
      summary: 'Lists deliveries to a receiver',
      filters: 'state',
      columns: 'id type state nextAttempt webhookId',
    },
    {
      name: 'delivery',
      operation: 'getDelivery',
      call: 'GET /v1/eventsubscriptions/{id}/deliveries/{deliveryId}',
      summary: 'Shows a delivery with its attempts',
    },
    {
      name: 'test',
      operation: 'testEventSubscription',
      call: 'POST /v1/eventsubscriptions/{id}/test',
      summary: 'Sends a sample event',
      fields: 'type',
    },
    {
      name: 'rotate-secret',
      operation: 'rotateEventSecret',
      call: 'POST /v1/eventsubscriptions/{id}/rotateSecret',
      summary: 'Makes and prints a new secret',
    },
    {
      name: 'redeliver',
      operation: 'redeliver',
      call: 'POST /v1/eventsubscriptions/{id}/redeliver',
      summary: 'Sends a delivery again, or all that failed since a time',
      fields: 'delivery since',
    },
  ],
  examples: [
    [
      'tollgate webhooks create --url https://example.com/hook --events SlaChanged,VersionSunset',
      'registers a receiver of two events',
    ],
    ['tollgate webhooks test evs_… --type SlaChanged', 'sends a sample'],
  ],
}
