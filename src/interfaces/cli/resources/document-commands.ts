/** Commands for documents and products. */

import type { ResourceGroup } from './resource-command.ts'

export const OPENAPI_SPECS: ResourceGroup = {
  name: 'openapispecs',
  commands: [
    {
      name: 'list',
      operation: 'listOpenApiSpecs',
      call: 'GET /v1/openapispecs',
      summary: 'Lists OpenAPI documents',
      filters: 'api label',
      columns: 'id api version mediaType createdAt',
    },
    {
      name: 'get',
      operation: 'getOpenApiSpec',
      call: 'GET /v1/openapispecs/{id}',
      summary: 'Shows an OpenAPI document without its content',
    },
    {
      name: 'label',
      operation: 'updateOpenApiSpec',
      call: 'PATCH /v1/openapispecs/{id}',
      summary: 'Replaces the labels of an OpenAPI document',
      fields: 'labels:map',
    },
    {
      name: 'content',
      operation: 'getOpenApiContent',
      call: 'GET /v1/openapispecs/{id}/content',
      summary: 'Prints an OpenAPI document as it was published',
      isRaw: true,
    },
  ],
  examples: [['tollgate openapispecs content oas_… > openapi.yaml', 'saves a document byte for byte']],
}

export const OPENSLA_SPECS: ResourceGroup = {
  name: 'openslaspecs',
  commands: [
    {
      name: 'list',
      operation: 'listOpenSlaSpecs',
      call: 'GET /v1/openslaspecs',
      summary: 'Lists OpenSLA declarations',
      filters: 'api inForce label',
      columns: 'id api variant version inForce createdAt',
    },
    {
      name: 'get',
      operation: 'getOpenSlaSpec',
      call: 'GET /v1/openslaspecs/{id}',
      summary: 'Shows a declaration without its content',
    },
    {
      name: 'create',
      operation: 'createOpenSlaSpec',
      call: 'POST /v1/openslaspecs',
      summary: 'Publishes a declaration of limits, quotas and prices',
      fields: 'api specification:file labels:map',
    },
    {
      name: 'label',
      operation: 'updateOpenSlaSpec',
      call: 'PATCH /v1/openslaspecs/{id}',
      summary: 'Replaces the labels of a declaration',
      fields: 'labels:map',
    },
    {
      name: 'content',
      operation: 'getOpenSlaContent',
      call: 'GET /v1/openslaspecs/{id}/content',
      summary: 'Prints a declaration as it was published',
      isRaw: true,
    },
    {
      name: 'validate',
      operation: 'validateOpenSlaSpec',
      call: 'POST /v1/openslaspecs/validate',
      summary: 'Checks a declaration and shows its plan, without publishing it',
      fields: 'api specification:file',
    },
    {
      name: 'plan',
      operation: 'getOpenSlaPlan',
      call: 'GET /v1/openslaspecs/{id}/plan',
      summary: 'Shows the limits, units and prices of a declaration',
    },
    {
      name: 'remove',
      operation: 'removeOpenSlaSpec',
      call: 'DELETE /v1/openslaspecs/{id}',
      summary: 'Removes a declaration that was never in force',
    },
  ],
  examples: [['tollgate openslaspecs create --api orders-v1 --specification gold.yaml', 'publishes a tier of an API']],
}

export const PRODUCTS: ResourceGroup = {
  name: 'products',
  commands: [
    {
      name: 'list',
      operation: 'listProducts',
      call: 'GET /v1/products',
      summary: 'Lists products',
      filters: 'label',
      columns: 'id name apis',
    },
    { name: 'get', operation: 'getProduct', call: 'GET /v1/products/{id}', summary: 'Shows a product' },
    {
      name: 'create',
      operation: 'createProduct',
      call: 'POST /v1/products',
      summary: 'Creates a product',
      fields: 'name apis:list labels:map',
    },
    {
      name: 'update',
      operation: 'updateProduct',
      call: 'PATCH /v1/products/{id}',
      summary: 'Changes fields of a product',
      fields: 'name apis:list labels:map',
    },
    {
      name: 'replace',
      operation: 'replaceProduct',
      call: 'PUT /v1/products/{id}',
      summary: 'Replaces a product',
      fields: 'name apis:list labels:map',
    },
    { name: 'remove', operation: 'removeProduct', call: 'DELETE /v1/products/{id}', summary: 'Removes a product' },
  ],
  examples: [['tollgate products create --name Payments --apis payments-v1,payouts-v1', 'bundles two APIs']],
}
