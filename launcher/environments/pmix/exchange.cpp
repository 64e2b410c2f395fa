#include "launcher/environments/pmix/exchange.h"

#include <pmix.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr const char* kKey = "hftrain.address";

struct Failure {
  const char* step;
  pmix_status_t status;
};

void check(const char* step, pmix_status_t status) {
  if (status != PMIX_SUCCESS) throw Failure{step, status};
}

void publish(const char* address) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  check("PMIx_Value_load", PMIx_Value_load(&value, address, PMIX_STRING));
  const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, kKey, &value);
  PMIX_VALUE_DESTRUCT(&value);
  check("PMIx_Put", status);
}

// All ranks of the job meet here and learn what was published.
void meet(const pmix_proc_t& self) {
  pmix_proc_t everybody;
  PMIX_PROC_LOAD(&everybody, self.nspace, PMIX_RANK_WILDCARD);
  pmix_info_t collect;
  PMIX_INFO_CONSTRUCT(&collect);
  bool yes = true;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  check("PMIx_Commit", PMIx_Commit());
  const pmix_status_t status = PMIx_Fence(&everybody, 1, &collect, 1);
  PMIX_INFO_DESTRUCT(&collect);
  check("PMIx_Fence", status);
}

std::string address_of_rank_0(const pmix_proc_t& self) {
  pmix_proc_t first;
  PMIX_PROC_LOAD(&first, self.nspace, 0);
  pmix_value_t* value = nullptr;
  check("PMIx_Get", PMIx_Get(&first, kKey, nullptr, 0, &value));
  const std::string address = value->type == PMIX_STRING ? value->data.string : "";
  PMIX_VALUE_RELEASE(value);
  return address;
}

std::string exchange(const char* own) {
  pmix_proc_t self;
  check("PMIx_Init", PMIx_Init(&self, nullptr, 0));
  if (*own != '\0') publish(own);
  meet(self);
  return address_of_rank_0(self);
}

}  // namespace

__attribute__((visibility("default"))) int hftrain_mpi_exchange_address(const char* own, char* out,
                                                                        size_t size) {
  try {
    const std::string address = exchange(own);
    if (address.size() >= size) throw Failure{"the address of rank 0", PMIX_ERR_BAD_PARAM};
    std::memcpy(out, address.c_str(), address.size() + 1);
    return 0;
  } catch (const Failure& failure) {
    std::snprintf(out, size, "%s: %s", failure.step, PMIx_Error_string(failure.status));
    return failure.status;
  }
}

__attribute__((visibility("default"))) void hftrain_mpi_end_exchange() {
  PMIx_Finalize(nullptr, 0);
}
