sbx_fuzz(plan SOURCES ${CMAKE_CURRENT_LIST_DIR}/fuzz_plan.cc
  ${PROJECT_SOURCE_DIR}/tests/plan/sample_plan.cc LINK sbx_all
  CORPUS corpus OF libsbx/plan/planner.cc)
if(TARGET fuzz_plan)
  target_include_directories(fuzz_plan PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endif()
